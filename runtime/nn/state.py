"""Modules are saved, loaded and converted. Source: torch/nn/modules/module.py."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..dtypes import float16, float32, float64
from ..grad_mode import no_grad
from ..ops.conversion import _dtype_of
from ..tensor import Tensor
from .parameter import Parameter

T = TypeVar("T", bound="Stateful")


class IncompatibleKeys(NamedTuple):
    """What load_state_dict did without, on either side."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        told = f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"
        return told if any(self) else "<All keys matched successfully>"


def _to(dtype: Any) -> Any:
    def convert(self: T) -> T:
        """`to` that dtype."""
        return self.to(dtype)

    return convert


class Stateful:
    """The part of Module that saves, loads and converts."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _state(self) -> dict[str, Tensor]:
        """What is saved of this module itself."""
        left_out = self._non_persistent_buffers_set
        every = {**self._parameters, **self._buffers}
        return {k: v for k, v in every.items() if v is not None and k not in left_out}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._state().items():
            destination[prefix + name] = value if keep_vars else value.detach()

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted name, detached unless `keep_vars`."""
        destination = OrderedDict() if destination is None else destination
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                module.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
        return destination

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own, and tell what went wrong in the last three."""
        own = self._state()
        for name, held in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or '
                    f"Tensor-like object from checkpoint but received {type(value)}"
                )
            elif value.array.shape != held.array.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {held.shape}."
                )
            elif local_metadata["assign_to_params_buffers"]:
                wanted = isinstance(held, Parameter) and not isinstance(value, Parameter)
                setattr(self, name, Parameter(value, held._rg) if wanted else value)
            else:
                with no_grad():
                    held.copy_(value)
        for key in state_dict:
            if key.startswith(prefix):
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Any, strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the values of a state_dict in, or put them in place of the tensors (`assign`).

        Raises:
            RuntimeError: shapes differ, or (if `strict`) keys are missing or unexpected.
        """
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state_dict, found = OrderedDict(state_dict), IncompatibleKeys([], [])
        errors: list[str] = []
        for path, module in self.named_modules(remove_duplicate=False):
            how = {"assign_to_params_buffers": assign}
            prefix = path and path + "."
            module._load_from_state_dict(state_dict, prefix, how, True, *found, errors)
        for what, keys in zip(("Missing", "Unexpected"), found, strict=True):
            if strict and keys:
                told = ", ".join(f'"{key}"' for key in keys)
                errors.insert(what != "Missing", f"{what} key(s) in state_dict: {told}. ")
        if errors:
            told = "\n\t".join(
                [f"Error(s) in loading state_dict for {type(self).__name__}:", *errors]
            )
            raise RuntimeError(told)
        return found

    def _apply(self: T, fn: Callable[[Tensor], Tensor]) -> T:
        for param in self.parameters():
            grad, param.grad = param.grad, None
            param.data = fn(param.data)
            param.grad = None if grad is None else fn(grad)
        for module in self.modules():
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Convert floating and complex parameters and buffers, in place; see `Tensor.to`.

        Raises:
            TypeError: to a dtype that is neither.
        """
        dtype = _dtype_of(args, kwargs.get("dtype"))
        if dtype is not None and dtype.kind not in "fcV":
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        return self._apply(
            lambda x: x if dtype and x.array.dtype.kind not in "fcV" else x.to(*args, **kwargs)
        )

    float, double, half = _to(float32), _to(float64), _to(float16)
    cpu, cuda = _to("cpu"), _to("cuda")
