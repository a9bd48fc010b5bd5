"""Layers and losses.

`class X(Layer, args="a, b=1")` gets an `__init__` with these parameters. It keeps all of them but
`device` and `dtype` as attributes, then calls `setup`, which checks them and makes what is learned.
With `call`, X's forward is that expression, of `input` or of what stands before ` -> ` in it.

Source: torch/nn/modules/.
"""

# ruff: noqa: S102  (constructors are generated)
# mypy: disable-error-code="has-type, attr-defined"

from __future__ import annotations

import math
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..ops.creation import tensor
from . import functional as F
from . import init
from .module import Module, Parameter

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

    def __init_subclass__(cls, args: str | None = None, call: str = "") -> None:
        if args is None:
            return
        names = [p.split("=")[0] for p in args.split(", ") if p and p[0] != "*"]
        if "inplace" in names and "{x}" in call:  # a function that knows nothing of that
            changed = call.format(x="input.clone()")
            call = f"input.copy_({changed}) if self.inplace else {call}"
        inputs, _, call = call.rpartition(" -> ")
        usual = next((f"input, {n}" for n in ("target", "other") if n in call), "input")
        made: dict[str, Any] = {"F": F, "__name__": cls.__module__}
        exec(_METHODS.format(args=args, inputs=inputs or usual, call=call.format(x="input")), made)
        for name in ("__init__", "forward") if call else ("__init__",):
            made[name].__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, made[name])
        if cls.shown is None:
            plain = [n for n in names if n not in {"inplace", "device", "dtype"}]
            cls.shown = ", ".join(f"{n}={{{n}!r}}" for n in plain)

    def _keep(self, given: dict[str, Any]) -> None:
        super().__init__()
        factory = {key: given.pop(key) for key in ("device", "dtype") if key in given}
        del given["self"]
        for name, value in given.items():
            setattr(self, name, value)
        self.setup(**factory)

    def setup(self, **factory: Any) -> None:
        """Check the arguments, and make parameters and buffers."""

    def _new(self, factory: dict[str, Any], **shapes: Any) -> None:
        """Parameters of these shapes, or None where there is no shape; then their values."""
        for name, shape in shapes.items():
            self.__dict__.pop(name, None)
            made = Parameter(aten.empty(*shape, **factory)) if shape else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones and zeros, as the normalizations begin."""
        for name, param in self.named_parameters(recurse=False):
            init.constant_(param, name == "weight")

    def _spread(self, ndim: int, *names: str) -> None:
        """Attributes that are one number become `ndim` of it."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, (str, tuple)):
                one = hasattr(value, "__index__")  # numpy's, too
                setattr(self, name, (value,) * ndim if one else tuple(value))

    def extra_repr(self) -> str:
        held, shown = vars(self), self.shown or ""
        if held.get("inplace") and "{inplace}" not in shown:
            shown += ", inplace=True" if shown else "inplace=True"
        return shown.format_map({**held, "bias": held.get("bias") is not None})


class Linear(
    Layer,
    args="in_features, out_features, bias=True" + _FACTORY,
    call="F.linear(input, self.weight, self.bias)",
):
    """`input @ weight.T + bias`: (*, in_features) to (*, out_features)."""

    def setup(self, **factory: Any) -> None:
        n = self.out_features
        self._new(factory, weight=(n, self.in_features), bias=self.bias and (n,))

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(max(fan_in, 1))
            init.uniform_(self.bias, -bound, bound)


class _Conv(Layer):
    """Cross-correlation: (N, C_in, *size) to (N, C_out, *size_out)."""

    def setup(self, **factory: Any) -> None:
        n, m, groups = self.out_channels, self.in_channels, self.groups
        divides = groups > 0 and m % groups == n % groups == 0
        wanted = "groups must be positive, and divide in_channels and out_channels"
        check(divides, wanted, ValueError)
        modes = "zeros", "reflect", "replicate", "circular"
        told = f"padding_mode must be one of {modes}, but got {self.padding_mode!r}"
        check(self.padding_mode in modes, told, ValueError)
        self._spread(self.ndim, "kernel_size", "stride", "padding", "dilation")
        padding = self.padding if {*self.stride} == {1} else ()
        fits = isinstance(self.padding, tuple) or self.padding == "valid" or padding == "same"
        check(fits, "padding should be numbers, 'valid', or (with stride 1) 'same'", ValueError)
        self._new(factory, weight=(n, m // groups, *self.kernel_size), bias=self.bias and (n,))

    reset_parameters = Linear.reset_parameters

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            both = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            whole = padding == "same"
            each = zip(
                padding if padding not in ("same", "valid") else (0,) * self.ndim, both, strict=True
            )
            sides = [(n // 2, n - n // 2) if whole else (p, p) for p, n in each]
            around = [n for pair in reversed(sides) for n in pair]
            input, padding = F.pad(input, around, self.padding_mode), 0
        convolve = getattr(F, f"conv{self.ndim}d")
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("groups", 1)):
            if getattr(self, name) not in {usual, (usual,) * self.ndim}:
                text += f", {name}={{{name}}}"
        text += ", bias=False" if self.bias is None else ""
        text += "" if self.padding_mode == "zeros" else ", padding_mode={padding_mode}"
        return text.format_map(vars(self))


class _BatchNorm(Layer):
    """Each channel (dimension 1) with mean 0 and variance 1, then scaled."""

    shown = "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={bias}, "
    shown += "track_running_stats={track_running_stats}"

    def setup(self, **factory: Any) -> None:
        n, affine, keeps = self.num_features, self.affine, self.track_running_stats
        self.register_buffer("running_mean", aten.zeros(n, **factory) if keeps else None)
        self.register_buffer("running_var", aten.ones(n, **factory) if keeps else None)
        self.register_buffer("num_batches_tracked", tensor(0) if keeps else None)
        self._new(factory, weight=affine and (n,), bias=affine and self.bias and (n,))

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Any) -> Any:
        shape = input.array.shape
        fits = len(shape) in ((self.ndim + 2,) if self.ndim > 1 else (2, 3))
        check(fits, f"{self._get_name()}: wrong number of dimensions: {shape}", ValueError)
        momentum, mean, var = self.momentum or 0.0, self.running_mean, self.running_var
        learns = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        elif self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        told = "running_mean and running_var must either both be None or neither be None"
        check(not self.training or (mean is None) == (var is None), told, ValueError)
        return F.batch_norm(input, mean, var, self.weight, self.bias, learns, momentum, self.eps)


class LayerNorm(
    Layer,
    args="normalized_shape, eps=1e-05, elementwise_affine=True, bias=True" + _FACTORY,
    call="F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)",
):
    """The last dimensions (`normalized_shape`) with mean 0 and variance 1, then scaled."""

    shown = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}"

    def extra_repr(self) -> str:
        bias = f", bias={self.bias is not None}" if "bias" in vars(self) else ""
        return super().extra_repr() + bias

    def setup(self, **factory: Any) -> None:
        self._spread(1, "normalized_shape")
        learned = self.normalized_shape if self.elementwise_affine else None
        bias = {"bias": learned if self.bias else None} if "bias" in vars(self) else {}
        self._new(factory, weight=learned, **bias)


class GroupNorm(
    Layer,
    args="num_groups, num_channels, eps=1e-05, affine=True" + _FACTORY + ", *, bias=True",
    call="F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)",
):
    """Groups of the channels of (N, C, *) with mean 0 and variance 1, then scaled."""

    shown = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={bias}"

    def setup(self, **factory: Any) -> None:
        n, affine = self.num_channels, self.affine
        check(n % self.num_groups == 0, "num_channels must be divisible by num_groups", ValueError)
        self._new(factory, weight=affine and (n,), bias=affine and self.bias and (n,))


class _Dropout(Layer):
    """In training, zeros with probability p, and the rest divided by 1 - p."""

    shown = "p={p}, inplace={inplace}"

    def setup(self, **factory: Any) -> None:
        check(0 <= self.p <= 1, "dropout probability has to be between 0 and 1", ValueError)


class _Pool(Layer):
    shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}"

    def setup(self, **factory: Any) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride
        if self._get_name() == "AvgPool1d":  # PyTorch shows these alone as tuples
            self._spread(1, "kernel_size", "stride", "padding")


class _MaxPool(_Pool):
    shown = _Pool.shown + ", dilation={dilation}, ceil_mode={ceil_mode}"


class _Loss(Layer):
    shown = ""

    def setup(self, **factory: Any) -> None:
        for name in {"weight", "pos_weight"} & vars(self).keys():
            self.register_buffer(name, vars(self).pop(name))


class _Margins(_Loss):
    def setup(self, **factory: Any) -> None:
        check(self.p in (1, 2), "only p == 1 and p == 2 supported", ValueError)
        super().setup(**factory)


class _Distance(Layer):
    shown = ""


_CONV = "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
_CONV += "bias=True, padding_mode='zeros'" + _FACTORY
_CALL = "self._conv_forward(input, self.weight, self.bias)"
_NORM = "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True"
_NORM += _FACTORY + ", *, bias=True"
_RMS = "normalized_shape, eps=None, elementwise_affine=True" + _FACTORY
_DROPOUT = "F.dropout(input, self.p, self.training, self.inplace)"
_POOL = "kernel_size, stride=None, padding=0"
_MAX = _POOL + ", dilation=1, return_indices=False, ceil_mode=False"
_AVG = _POOL + ", ceil_mode=False, count_include_pad=True"
_LOGITS = "binary_cross_entropy_with_logits"
_MEAN = "size_average=None, reduce=None, reduction='mean'"
_CLASSES = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"


_PAIR = "input1, input2, target -> "
_TRIPLET = "anchor, positive, negative -> triplet_margin_loss"
_FAR = "margin=1.0, p=2.0, eps=1e-06, swap=False, " + _MEAN
_POISSON = "log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, "
_POISSON += "reduction='mean'"
_GAUSSIAN = "*, full=False, eps=1e-06, reduction='mean'"
_POINTS = "x1, x2 -> pairwise_distance"
_CTC = "log_probs, targets, input_lengths, target_lengths -> ctc_loss"


def make_layers(home: dict[str, Any], rows: Any) -> None:
    """Put layers in a module: of each the base, name, what forward calls, and its arguments.

    A function is called with the arguments: by name if it is a loss or pool, else in order.
    """
    for base, name, does, args in rows:
        inputs, arrow, call = does.rpartition(" -> ")
        if call.isidentifier():
            names = [
                p.split("=")[0] for p in args.split(", ") if p not in {"", "*", "inplace=False"}
            ]
            how = "{n}=self.{n}" if issubclass(base, (_Pool, _Loss)) else "self.{n}"
            usual = "{x}, target" if issubclass(base, _Loss) else "{x}"
            given = [inputs or usual, *(how.format(n=n) for n in names)]
            call = f"{inputs}{arrow}F.{call}({', '.join(given)})"
        else:
            call = does
        ndim = int(name[-2]) if name[-2:] in {"2d", "3d"} else 1
        body: dict[str, Any] = {"__module__": home["__name__"], "ndim": ndim}
        body["__doc__"] = call if base is Layer else base.__doc__
        home[name] = type(name, (base,), body, args=args, call=call)


_ROWS: Any = (
    (_Conv, "Conv1d", _CALL, _CONV),
    (_Conv, "Conv2d", _CALL, _CONV),
    (_BatchNorm, "BatchNorm1d", "", _NORM),
    (_BatchNorm, "BatchNorm2d", "", _NORM),
    (LayerNorm, "RMSNorm", "F.rms_norm(input, self.normalized_shape, self.weight, self.eps)", _RMS),
    (Layer, "Identity", "(input)", "*args, **kwargs"),
    (Layer, "Flatten", "{x}.flatten(self.start_dim, self.end_dim)", "start_dim=1, end_dim=-1"),
    (_Dropout, "Dropout", _DROPOUT, "p=0.5, inplace=False"),
    (Layer, "ReLU", "relu", "inplace=False"),
    (Layer, "SiLU", "silu", "inplace=False"),
    (Layer, "ELU", "elu", "alpha=1.0, inplace=False"),
    (Layer, "LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False"),
    (Layer, "Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False"),
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
    (_Loss, "MSELoss", "mse_loss", _MEAN),
    (_Loss, "L1Loss", "l1_loss", _MEAN),
    (_Loss, "SmoothL1Loss", "smooth_l1_loss", _MEAN + ", beta=1.0"),
    (_Loss, "HuberLoss", "huber_loss", "reduction='mean', delta=1.0"),
    (_Loss, "KLDivLoss", "kl_div", _MEAN + ", log_target=False"),
    (_Loss, "NLLLoss", "nll_loss", _CLASSES),
    (_Loss, "CrossEntropyLoss", "cross_entropy", _CLASSES + ", label_smoothing=0.0"),
    (_Loss, "BCELoss", "binary_cross_entropy", f"weight=None, {_MEAN}"),
    (_Loss, "BCEWithLogitsLoss", _LOGITS, f"weight=None, {_MEAN}, pos_weight=None"),
    (_Loss, "MarginRankingLoss", _PAIR + "margin_ranking_loss", "margin=0.0, " + _MEAN),
    (_Loss, "CosineEmbeddingLoss", _PAIR + "cosine_embedding_loss", "margin=0.0, " + _MEAN),
    (_Margins, "MultiMarginLoss", "multi_margin_loss", "p=1, margin=1.0, weight=None, " + _MEAN),
    (_Loss, "PoissonNLLLoss", "poisson_nll_loss", _POISSON),
    (_Loss, "GaussianNLLLoss", "input, target, var -> gaussian_nll_loss", _GAUSSIAN),
    (_Loss, "TripletMarginLoss", _TRIPLET, _FAR),
    (_Loss, "CTCLoss", _CTC, "blank=0, reduction='mean', zero_infinity=False"),
    (_Distance, "PairwiseDistance", _POINTS, "p=2.0, eps=1e-06, keepdim=False"),
)
make_layers(globals(), _ROWS)
