"""Layers and losses that learn nothing: each is a function, with its options in the constructor.

Source: torch/nn/modules/.
"""

# ruff: noqa: A002  (PyTorch's names)
# mypy: disable-error-code="has-type"

from __future__ import annotations

from typing import Any

from .layers import Layer

_POOL = "kernel_size, stride=None, padding=0"
_MAX = _POOL + ", dilation=1, return_indices=False, ceil_mode=False"
_AVG = _POOL + ", ceil_mode=False, count_include_pad=True"
_LEGACY = "size_average=None, reduce=None, reduction='mean'"
_CLASSES = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"


class Identity(Layer, args="*args, **kwargs"):
    """Its input."""

    def forward(self, input: Any) -> Any:
        return input


class Flatten(
    Layer, args="start_dim=1, end_dim=-1", call="{x}.flatten(self.start_dim, self.end_dim)"
):
    """Dimensions start_dim to end_dim as one."""


class Unflatten(Layer, args="dim, unflattened_size"):
    """Dimension dim as several."""

    def setup(self, **factory: Any) -> None:
        if not isinstance(self.unflattened_size, (tuple, list)):
            kind = type(self.unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")

    def forward(self, input: Any) -> Any:
        shape, at = input.array.shape, self.dim % input.array.ndim
        return input.reshape(*shape[:at], *self.unflattened_size, *shape[at + 1 :])


_DROPOUT = "F.dropout(input, self.p, self.training, self.inplace)"


class Dropout(Layer, args="p=0.5, inplace=False", call=_DROPOUT):
    """In training, zeros with probability p, and the rest divided by 1 - p."""

    shown = "p={p}, inplace={inplace}"

    def setup(self, **factory: Any) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


class _Bounds(Layer):
    def setup(self, **factory: Any) -> None:
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


class _Pool(Layer):
    shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def setup(self, **factory: Any) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride
        for name in ("kernel_size", "stride", "padding") if self._get_name() == "AvgPool1d" else ():
            value = getattr(self, name)
            setattr(self, name, (value,) if isinstance(value, int) else tuple(value))


class _MaxPool(_Pool):
    shown = _Pool.shown + ", dilation={dilation}, ceil_mode={ceil_mode}"


class _Loss(Layer):
    shown = ""

    def setup(self, **factory: Any) -> None:
        """`size_average` and `reduce` are older ways to say `reduction`."""
        average, reduce = (vars(self).pop(n, None) for n in ("size_average", "reduce"))
        if average is not None or reduce is not None:
            self.reduction = "none" if reduce is False else "sum" if average is False else "mean"
        for name in {"weight", "pos_weight"} & vars(self).keys():
            self.register_buffer(name, vars(self).pop(name))


# Base, name, function, and the constructor's arguments: by name to a loss or pool, else in order.
for _base, _name, _function, _args in (
    (Layer, "ReLU", "relu", "inplace=False"),
    (Layer, "SiLU", "silu", "inplace=False"),
    (Layer, "ELU", "elu", "alpha=1.0, inplace=False"),
    (Layer, "LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False"),
    (_Bounds, "Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False"),
    (Layer, "GELU", "gelu", "approximate='none'"),
    (Layer, "Sigmoid", "sigmoid", ""),
    (Layer, "Tanh", "tanh", ""),
    (Layer, "LogSigmoid", "logsigmoid", ""),
    (Layer, "Softplus", "softplus", "beta=1.0, threshold=20.0"),
    (Layer, "Softmax", "softmax", "dim=None"),
    (Layer, "LogSoftmax", "log_softmax", "dim=None"),
    (Layer, "AdaptiveAvgPool1d", "adaptive_avg_pool1d", "output_size"),
    (Layer, "AdaptiveAvgPool2d", "adaptive_avg_pool2d", "output_size"),
    (_MaxPool, "MaxPool1d", "max_pool1d", _MAX),
    (_MaxPool, "MaxPool2d", "max_pool2d", _MAX),
    (_Pool, "AvgPool1d", "avg_pool1d", _AVG),
    (_Pool, "AvgPool2d", "avg_pool2d", _AVG + ", divisor_override=None"),
    (_Loss, "MSELoss", "mse_loss", _LEGACY),
    (_Loss, "L1Loss", "l1_loss", _LEGACY),
    (_Loss, "SmoothL1Loss", "smooth_l1_loss", _LEGACY + ", beta=1.0"),
    (_Loss, "HuberLoss", "huber_loss", "reduction='mean', delta=1.0"),
    (_Loss, "KLDivLoss", "kl_div", _LEGACY + ", log_target=False"),
    (_Loss, "NLLLoss", "nll_loss", _CLASSES),
    (_Loss, "CrossEntropyLoss", "cross_entropy", _CLASSES + ", label_smoothing=0.0"),
    (_Loss, "BCELoss", "binary_cross_entropy", f"weight=None, {_LEGACY}"),
    (
        _Loss,
        "BCEWithLogitsLoss",
        "binary_cross_entropy_with_logits",
        f"weight=None, {_LEGACY}, pos_weight=None",
    ),
):
    _names = [part.split("=")[0] for part in _args.split(", ") if part]
    _names = [n for n in _names if n not in {"inplace", "size_average", "reduce"}]
    _how = "{n}=self.{n}" if issubclass(_base, (_Pool, _Loss)) else "self.{n}"
    _inputs = ["{x}", "target"] if _base is _Loss else ["{x}"]
    _call = f"F.{_function}({', '.join(_inputs + [_how.format(n=n) for n in _names])})"
    _body = {"__module__": __name__, "__doc__": f"`functional.{_function}`, as a module."}
    globals()[_name] = type(_name, (_base,), _body, args=_args, call=_call)
