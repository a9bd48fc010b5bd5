"""Layers for images and volumes, padding, and further activations. Source: torch/nn/modules/."""

# mypy: disable-error-code="has-type, attr-defined, name-defined"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.faces import WHY, refusing
from ..engine.hooks import check
from . import functional as F
from . import init
from .layers import (
    _AVG,
    _CALL,
    _CONV,
    _DROPOUT,
    _FACTORY,
    _MAX,
    _NORM,
    Layer,
    _BatchNorm,
    _Conv,
    _Dropout,
    _MaxPool,
    _Pool,
    make_layers,
)


class _ConvTranspose(_Conv):
    """The gradient of a convolution by its input: (N, C_in, *size) to (N, C_out, *larger)."""

    def setup(self, **factory: Any) -> None:
        n, m = self.out_channels, self.in_channels
        fits = m % self.groups == n % self.groups == 0
        check(fits, "in_channels and out_channels must be divisible by groups", ValueError)
        zeros = self.padding_mode == "zeros"
        check(zeros, 'Only "zeros" padding mode is supported for ConvTranspose', ValueError)
        names = ("kernel_size", "stride", "padding", "output_padding", "dilation")
        self._spread(self.ndim, *names)
        shape = (m, n // self.groups, *self.kernel_size)
        self._new(factory, weight=shape, bias=self.bias and (n,))


class _Channels(_BatchNorm):
    """Each channel of each sample with mean 0 and variance 1, then scaled."""

    def forward(self, input: Any) -> Any:
        alone = input.array.ndim == self.ndim + 1
        fits = alone or input.array.ndim == self.ndim + 2
        check(fits, f"{self._get_name()}: wrong number of dimensions: {input.shape}", ValueError)
        x, mean, var = input.unsqueeze(0) if alone else input, self.running_mean, self.running_var
        learns = self.training or not self.track_running_stats
        found = F.instance_norm(
            x, mean, var, self.weight, self.bias, learns, self.momentum or 0.0, self.eps
        )
        return found.squeeze(0) if alone else found


class PReLU(
    Layer,
    args="num_parameters=1, init=0.25" + _FACTORY,
    call="F.prelu(input, self.weight)",
):
    """max(0, x) + weight * min(0, x), of one weight or one a channel."""

    shown = "num_parameters={num_parameters}"

    def setup(self, **factory: Any) -> None:
        self._new(factory, weight=(self.num_parameters,))

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)


class _Padding(Layer):
    """Padded on all sides, by one number or one each."""

    def setup(self, **factory: Any) -> None:
        self._spread(2 * self.ndim, "padding")

    def extra_repr(self) -> str:
        held = vars(self)
        return (
            f"padding={self.padding}, value={self.value}" if "value" in held else f"{self.padding}"
        )


class _Shrink(Layer):
    shown = "{lambd}"


class _Windows(_Pool):
    """Pools and windows that are shown by their arguments."""

    setup = Layer.setup
    shown: Any = None


class _Unpool(_Pool):
    """A pool the other way round: maxima go back to where they were."""

    def setup(self, **factory: Any) -> None:
        super().setup()
        self._spread(self.ndim, "kernel_size", "stride", "padding")


class _AdaptiveMax(_Windows):
    shown = "output_size={output_size}"


class _Response(Layer):
    shown = "{size}, alpha={alpha}, beta={beta}, k={k}"


class SyncBatchNorm(_BatchNorm):
    """Can be imported and asked for; to make one needs processes that are joined."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("torch.nn.SyncBatchNorm", WHY["distributed"])()

    @classmethod
    def convert_sync_batchnorm(cls, *_: Any, **__: Any) -> Any:
        return cls()


class _Upsampled(Layer):
    """Of another size: `size`, or what there is times `scale_factor`."""

    def setup(self, **factory: Any) -> None:
        factor = self.scale_factor
        if factor is not None:
            self.scale_factor = (
                tuple(map(float, factor)) if isinstance(factor, tuple) else float(factor)
            )

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class Bilinear(
    Layer,
    args="in1_features, in2_features, out_features, bias=True" + _FACTORY,
    call="input1, input2 -> F.bilinear(input1, input2, self.weight, self.bias)",
):
    """`input1 @ weight[k] @ input2 + bias[k]` for each k."""

    shown = "in1_features={in1_features}, in2_features={in2_features}, "
    shown += "out_features={out_features}, bias={bias}"

    def setup(self, **factory: Any) -> None:
        n, width = self.out_features, self.in1_features
        self._new(factory, weight=(n, width, self.in2_features), bias=self.bias and (n,))

    def reset_parameters(self) -> None:
        bound = self.in1_features**-0.5
        for param in self.parameters():
            init.uniform_(param, -bound, bound)


_TURNED = "(input, self.weight, self.bias, self.stride, self.padding, self.output_padding, "
_TURNED += "self.groups, self.dilation)"
_TURNED_ARGS = "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, "
_TURNED_ARGS += "groups=1, bias=True, dilation=1, padding_mode='zeros'" + _FACTORY
_INSTANCE = "num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False"
_INSTANCE += _FACTORY + ", *, bias=True"


def _in_each(kind: type[Layer], name: str, call: str, args: str) -> Iterator[Any]:
    """The rows of a layer for one, two and three dimensions, `{n}` in the texts."""
    for n in (1, 2, 3):
        yield kind, f"{name}{n}d", call.replace("{n}", str(n)), args


_UNPOOL = "input, indices, output_size=None -> "
_UNPOOL += "F.max_unpool{n}d(input, indices, self.kernel_size, self.stride, self.padding, "
_UNPOOL += "output_size)"
_PAD = "F.pad(input, self.padding, {!r})"
_CONSTANT = "F.pad(input, self.padding, 'constant', self.value)"
_RRELU = "F.rrelu(input, self.lower, self.upper, self.training, self.inplace)"
_SIZE = "size=None, scale_factor=None, mode='nearest', align_corners=None, "
_SIZE += "recompute_scale_factor=None"
_UNFLATTEN = "input.unflatten(self.dim, self.unflattened_size)"
_SIMILAR = "F.cosine_similarity(input, other, self.dim, self.eps)"
_OF_N = _DROPOUT.replace("dropout", "dropout{n}d")
_LARGEST = "adaptive_max_pool{n}d"
_ROWS: Any = (
    (_Conv, "Conv3d", _CALL, _CONV),
    *_in_each(_ConvTranspose, "ConvTranspose", "F.conv_transpose{n}d" + _TURNED, _TURNED_ARGS),
    *_in_each(_Channels, "InstanceNorm", "", _INSTANCE),
    *_in_each(_Dropout, "Dropout", _OF_N, "p=0.5, inplace=False"),
    *_in_each(_Padding, "ReflectionPad", _PAD.format("reflect"), "padding"),
    *_in_each(_Padding, "ReplicationPad", _PAD.format("replicate"), "padding"),
    *_in_each(_Padding, "CircularPad", _PAD.format("circular"), "padding"),
    *_in_each(_Padding, "ZeroPad", _PAD.format("constant"), "padding"),
    *_in_each(_Padding, "ConstantPad", _CONSTANT, "padding, value"),
    *_in_each(_AdaptiveMax, "AdaptiveMaxPool", _LARGEST, "output_size, return_indices=False"),
    *_in_each(_Unpool, "MaxUnpool", _UNPOOL, "kernel_size, stride=None, padding=0"),
    (_Windows, "Unfold", "unfold", "kernel_size, dilation=1, padding=0, stride=1"),
    (_Windows, "Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1"),
    (_Response, "LocalResponseNorm", "local_response_norm", "size, alpha=0.0001, beta=0.75, k=1.0"),
    (Layer, "RReLU", _RRELU, "lower=0.125, upper=0.3333333333333333, inplace=False"),
    (Layer, "Threshold", "threshold", "threshold, value, inplace=False"),
    (Layer, "PixelShuffle", "pixel_shuffle", "upscale_factor"),
    (Layer, "PixelUnshuffle", "pixel_unshuffle", "downscale_factor"),
    (_Upsampled, "Upsample", "interpolate", _SIZE),
    (Layer, "Unflatten", _UNFLATTEN, "dim, unflattened_size"),
    *(
        (Layer, n, n.lower(), "inplace=False")
        for n in "ReLU6 SELU Hardswish Hardsigmoid Mish".split()
    ),
    (Layer, "CELU", "celu", "alpha=1.0, inplace=False"),
    (Layer, "Softsign", "softsign", ""),
    (Layer, "Tanhshrink", "tanhshrink", ""),
    (_Shrink, "Softshrink", "softshrink", "lambd=0.5"),
    (_Shrink, "Hardshrink", "hardshrink", "lambd=0.5"),
    (Layer, "GLU", "glu", "dim=-1"),
    (Layer, "Softmin", "softmin", "dim=None"),
    (Layer, "CosineSimilarity", _SIMILAR, "dim=1, eps=1e-08"),
    (_BatchNorm, "BatchNorm3d", "", _NORM),
    (_MaxPool, "MaxPool3d", "max_pool3d", _MAX),
    (_Pool, "AvgPool3d", "avg_pool3d", _AVG + ", divisor_override=None"),
    (Layer, "AdaptiveAvgPool3d", "adaptive_avg_pool3d", "output_size"),
)
make_layers(globals(), _ROWS)
