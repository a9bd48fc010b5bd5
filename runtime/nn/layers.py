"""Layers and losses.

`class X(Layer, args="a, b=1")` gets an `__init__` with these parameters. It keeps all of them but
`device` and `dtype` as attributes, then calls `setup`, which checks them and makes what is learned.
With `call`, X's forward is that expression.

Source: torch/nn/modules/.
"""

# ruff: noqa: A002, N812, S102  (PyTorch's names; constructors are generated)
# mypy: disable-error-code="has-type"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..ops.creation import tensor
from ..ops.table import aten
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

_METHODS = """
def __init__(self, {args}):
    self._keep(locals())
def forward(self, {inputs}):
    return {call}
"""
_FACTORY = ", device=None, dtype=None"


class Layer(Module):
    """A module whose constructor is declared."""

    shown: str | None = None  # extra_repr, as a format; by default `name=value` of each argument

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __init_subclass__(cls, args: str | None = None, call: str = "") -> None:
        if args is None:
            return
        names = [p.split("=")[0] for p in args.split(", ") if p and p[0] != "*"]
        if "inplace" in names and "{x}" in call:  # a function that knows nothing of that
            changed = call.format(x="input.clone()")
            call = f"input.copy_({changed}) if self.inplace else {call}"
        inputs = "input, target" if "target" in call else "input"
        made: dict[str, Any] = {"F": F, "__name__": cls.__module__}
        exec(_METHODS.format(args=args, inputs=inputs, call=call.format(x="input")), made)
        for name in ("__init__", "forward") if call else ("__init__",):
            made[name].__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, made[name])
        if cls.shown is None:
            plain = [n for n in names if n not in {"inplace", "device", "dtype"}]
            cls.shown = ", ".join(f"{n}={{{n}!r}}" for n in plain)

    def _keep(self, given: dict[str, Any]) -> None:
        super().__init__()
        factory = {key: given.pop(key) for key in ("device", "dtype") if key in given}
        for name, value in given.items():
            if name not in {"self", "args", "kwargs"}:
                setattr(self, name, value)
        self.setup(**factory)

    def setup(self, **factory: Any) -> None:
        """Check the arguments, and make parameters and buffers."""

    def _new(self, factory: dict[str, Any], **shapes: Any) -> None:
        """Parameters of these shapes, or None where there is no shape; then their values."""
        for name, shape in shapes.items():
            self.__dict__.pop(name, None)
            self.register_parameter(
                name, Parameter(aten.empty(*shape, **factory)) if shape else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones and zeros, as the normalizations begin."""
        for name, param in self._parameters.items():
            if param is not None:
                init.constant_(param, name == "weight")

    def extra_repr(self) -> str:
        held, shown = vars(self), self.shown or ""
        if held.get("inplace") and "{inplace}" not in shown:
            shown += ", inplace=True" if shown else "inplace=True"
        return shown.format_map({**held, "bias": held.get("bias") is not None})


class Linear(Layer, args="in_features, out_features, bias=True" + _FACTORY):
    """`input @ weight.T + bias`: (*, in_features) to (*, out_features)."""

    def setup(self, **factory: Any) -> None:
        n, m = self.out_features, self.in_features
        self._new(factory, weight=(n, m), bias=self.bias and (n,))

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(max(fan_in, 1))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight, self.bias)


_CONV = "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
_CONV += "bias=True, padding_mode='zeros'" + _FACTORY
_CALL = "(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)"


class _Conv(Layer):
    ndim = 1

    def setup(self, **factory: Any) -> None:
        n, m, groups, padding = self.out_channels, self.in_channels, self.groups, self.padding
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if m % groups or n % groups:
            side = "in" if m % groups else "out"
            raise ValueError(f"{side}_channels must be divisible by groups")
        if self.padding_mode != "zeros":
            raise ValueError(f"padding_mode must be 'zeros', but got {self.padding_mode!r}")
        if isinstance(padding, str) and padding not in {"same", "valid"}:
            raise ValueError(f"Invalid padding string {padding!r}, should be 'same' or 'valid'")
        for name in ("kernel_size", "stride", "padding", "dilation"):
            value = getattr(self, name)
            if not isinstance(value, (str, tuple)):
                pair = (value,) * self.ndim if isinstance(value, int) else tuple(value)
                setattr(self, name, pair)
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self._new(factory, weight=(n, m // groups, *self.kernel_size), bias=self.bias and (n,))

    reset_parameters = Linear.reset_parameters

    def extra_repr(self) -> str:
        text = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("groups", 1)):
            if getattr(self, name) not in {usual, (usual,) * self.ndim}:
                text += f", {name}={{{name}}}"
        return text.format_map(vars(self)) + (", bias=False" if self.bias is None else "")


class Conv1d(_Conv, args=_CONV, call="F.conv1d" + _CALL):
    """Cross-correlation: (N, C_in, L) to (N, C_out, L_out)."""


class Conv2d(_Conv, args=_CONV, call="F.conv2d" + _CALL):
    """Cross-correlation: (N, C_in, H, W) to (N, C_out, H_out, W_out)."""

    ndim = 2


class Embedding(
    Layer,
    args="num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, "
    "scale_grad_by_freq=False, sparse=False" + _FACTORY,
    call="F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, "
    "self.scale_grad_by_freq, self.sparse)",
):
    """One row of `weight` for each index: (*) to (*, embedding_dim)."""

    def setup(self, **factory: Any) -> None:
        n, padding = self.num_embeddings, self.padding_idx
        if padding is not None:
            if not -n <= padding < n:
                raise AssertionError("Padding_idx must be within num_embeddings")
            self.padding_idx = padding % n
        self._new(factory, weight=(n, self.embedding_dim))

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.array[self.padding_idx] = 0

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return text + (", sparse=True" if self.sparse else "")


class _BatchNorm(Layer):
    ndims: tuple[int, ...] = ()
    shown = (
        "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={bias}, "
        "track_running_stats={track_running_stats}"
    )

    def setup(self, **factory: Any) -> None:
        n, affine = self.num_features, self.affine
        self._new(factory, weight=affine and (n,), bias=affine and self.bias and (n,))
        keeps = self.track_running_stats
        self.register_buffer("running_mean", aten.zeros(n, **factory) if keeps else None)
        self.register_buffer("running_var", aten.ones(n, **factory) if keeps else None)
        self.register_buffer("num_batches_tracked", tensor(0) if keeps else None)

    def forward(self, input: Any) -> Any:
        if input.array.ndim not in self.ndims:
            wanted = "D or ".join(map(str, self.ndims))
            raise ValueError(f"expected {wanted}D input (got {input.array.ndim}D input)")
        momentum = self.momentum or 0.0
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        mean, var = self.running_mean, self.running_var
        learns = self.training or mean is None
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, learns, momentum, self.eps)


_NORM = "eps=1e-05, momentum=0.1, affine=True, track_running_stats=True" + _FACTORY


class BatchNorm1d(_BatchNorm, args=f"num_features, {_NORM}, *, bias=True"):
    """Each channel of (N, C) or (N, C, L) with mean 0 and variance 1, then scaled."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm, args=f"num_features, {_NORM}, *, bias=True"):
    """Each channel of (N, C, H, W) with mean 0 and variance 1, then scaled."""

    ndims = (4,)


class LayerNorm(
    Layer,
    args="normalized_shape, eps=1e-05, elementwise_affine=True, bias=True" + _FACTORY,
    call="F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)",
):
    """The last dimensions (`normalized_shape`) with mean 0 and variance 1, then scaled."""

    shown = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}, bias={bias}"

    def setup(self, **factory: Any) -> None:
        shape = self.normalized_shape
        self.normalized_shape = shape = (shape,) if isinstance(shape, int) else tuple(shape)
        learned = shape if self.elementwise_affine else None
        bias = {"bias": learned if self.bias else None} if "bias" in vars(self) else {}
        self._new(factory, weight=learned, **bias)


class RMSNorm(
    LayerNorm,
    args="normalized_shape, eps=None, elementwise_affine=True" + _FACTORY,
    call="F.rms_norm(input, self.normalized_shape, self.weight, self.eps)",
):
    """The last dimensions divided by their root mean square, then scaled."""

    shown = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}"


class GroupNorm(
    Layer,
    args="num_groups, num_channels, eps=1e-05, affine=True" + _FACTORY + ", *, bias=True",
    call="F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)",
):
    """Groups of the channels of (N, C, *) with mean 0 and variance 1, then scaled."""

    shown = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={bias}"

    def setup(self, **factory: Any) -> None:
        n, affine = self.num_channels, self.affine
        if n % self.num_groups:
            raise ValueError(
                f"num_channels ({n}) must be divisible by num_groups ({self.num_groups})"
            )
        self._new(factory, weight=affine and (n,), bias=affine and self.bias and (n,))
