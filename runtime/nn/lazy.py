"""Layers that learn from their first input how many channels it has.

Source: torch/nn/modules/lazy.py.
"""

# mypy: disable-error-code="attr-defined, misc"

from __future__ import annotations

from typing import Any

from . import image_layers, layers
from .parameter import UninitializedParameter


class LazyModuleMixin:
    """A layer without its first argument; with the first input it becomes `cls_to_become`."""

    cls_to_become: Any

    def _keep(self, given: dict[str, Any]) -> None:
        first = self.counted
        self.__dict__["_given"] = {k: v for k, v in given.items() if k != "self"}
        super()._keep({"self": self, first: 0, **self._given})
        for name, param in self._parameters.items():
            if param is not None:
                made = UninitializedParameter(param.requires_grad, dtype=param.dtype)
                self._parameters[name] = made

    def has_uninitialized_params(self) -> bool:
        unknown = [isinstance(p, UninitializedParameter) for p in self._parameters.values()]
        empty = [b is not None and not b.numel() for b in self._buffers.values()]
        return any(unknown + empty)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        shape = (args[0] if args else kwargs["input"]).shape
        self._become(shape[self._place(len(shape))])
        return self(*args, **kwargs)

    def _place(self, ndim: int) -> int:
        """The dimension of channels: the last, or the first behind that of samples."""
        if self.counted == "in_features":
            return -1
        return 0 if "Norm" not in self._get_name() and ndim == self.ndim + 1 else 1

    def _become(self, count: int) -> None:
        given, kind = self.__dict__.pop("_given"), self.cls_to_become
        known = [p.dtype for p in self._parameters.values() if p is not None]
        made: Any = kind(count, **{**given, "dtype": known[0] if known else given["dtype"]})
        setattr(self, self.counted, count)
        for name, param in self._parameters.items():
            if isinstance(param, UninitializedParameter):
                param.materialize(made._parameters[name].shape)
                param.data = made._parameters[name].detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and not buffer.numel():
                self._buffers[name] = made._buffers[name]
        self.__class__ = kind

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, param in self._parameters.items():
            value = state_dict.get(prefix + name)
            if isinstance(param, UninitializedParameter) and value is not None:
                param.materialize(value.array.shape)
        for name, buffer in self._buffers.items():
            value = state_dict.get(prefix + name)
            if value is not None and buffer is not None and not buffer.numel():
                self._buffers[name] = value.new_empty(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def lazy(name: str) -> Any:
    """The lazy form of the layer of that name."""
    kind = getattr(layers, name, None) or getattr(image_layers, name)
    counted, _, args = kind.declared.partition(", ")
    args = args.replace("=False, track_running_stats=False", "=True, track_running_stats=True")
    body = {"cls_to_become": kind, "counted": counted, "__module__": __name__}
    return type(f"Lazy{name}", (LazyModuleMixin, kind), body, args=args)


_NAMES = "Conv{n}d ConvTranspose{n}d BatchNorm{n}d InstanceNorm{n}d"
_ALL = ["Linear", *(name for n in (1, 2, 3) for name in _NAMES.format(n=n).split())]
globals().update((f"Lazy{name}", lazy(name)) for name in _ALL)
