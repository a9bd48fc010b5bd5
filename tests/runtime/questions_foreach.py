"""Questions about the `_foreach_` operators, and about what autocast does to operators."""

import numpy as np

import tidy.runtime as rt
from tidy.runtime.observe import autocast

from .tables import named

# Foreach operators

OPERANDS = [np.array([[1.0, 4.0], [9.0, 2.0]]), np.array([2.0, 0.5, 3.0])]
FOREACH = {
    "add": [(2.0,), ([1.0, 2.0],), ("list",), ("list", {"alpha": 3})],
    "sub": [(2,), ("list", {"alpha": 0.5})], "mul": [(2.0,), ([1.0, 2.0],), ("list",), ("tensor",)],
    "div": [(2.0,), ("list",)], "maximum": [(2.0,), ("list",)], "minimum": [(2.0,)],
    "clamp_max": [(2.0,), ([1.0, 2.0],), ("list",)], "clamp_min": [(2.0,), ("list",)],
    "pow": [(2.0,), ([0.5, 2.0],), ("list",)],
    "addcmul": [("list", "list", {"value": 0.5}), ("list", "list"), ("list", "list", [1.0, 2.0])],
    "addcdiv": [("list", "list", {"value": 0.5}), ("list", "list", [1.0, 2.0])],
    "lerp": [("list", 0.25), ("list", "list")], "sqrt": [()], "neg": [()], "abs": [()],
    "sign": [()], "reciprocal": [()], "norm": [(), (1,), (float("inf"),)], "zero": [()],
    "copy": [("list",)],
}  # fmt: skip


EVERY = {
    f"_foreach_{name}{end} {kind}": (f"_foreach_{name}{end}", FOREACH[name], kind)
    for name in FOREACH
    for kind in ("float64", "float32")
    for end in ("", "_")
}


def outcomes(t, question):
    """Of each call: what it returns, and how the versions of its operands have changed.

    None where there is no such operator.
    """
    name, every, kind = question
    return [foreach(t, name, args, kind) for args in every] if hasattr(t, name) else None


def foreach(t, name, args, kind):
    tensors = [t.tensor(x.astype(kind)) for x in OPERANDS]
    seconds = [t.tensor((x * 2 + 1).astype(kind)) for x in OPERANDS]
    named = {"list": seconds, "tensor": t.tensor(np.asarray(1.5, kind))}
    kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
    args = [named.get(x, x) if isinstance(x, str) else x for x in args if x is not kwargs]
    before = [x._version for x in tensors]
    results = getattr(t, name)(tensors, *args, **kwargs)
    changed = [x._version - b for x, b in zip(tensors, before, strict=True)]
    return type(results).__name__, [] if results is None else list(results), changed


# What autocast does to operators

FLOATS = (4, 4)
_LOSSES = (
    "mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy "
    "binary_cross_entropy_with_logits"
).split()
# By the operator's name, of a matrix `x`.
CALLS = named("""
mm: t.mm(x, x); bmm: t.bmm(x[None], x[None]); addmm: t.addmm(x, x, x); matmul: t.matmul(x, x)
baddbmm: t.baddbmm(x[None], x[None], x[None]); linear: F.linear(x, x)
conv1d: F.conv1d(x[None], x[:, :, None]); conv2d: F.conv2d(x[None, None], x[None, None])
conv3d: F.conv3d(x[None, None, None], x[None, None, None]); prod: t.prod(x)
scaled_dot_product_attention: F.scaled_dot_product_attention(x[None], x[None], x[None])
nll_loss: F.nll_loss(x, t.zeros(4, dtype=t.int64))
cross_entropy_loss: F.cross_entropy(x, t.zeros(4, dtype=t.int64)); add: x + x; mul: x * x
exp: x.exp(); sum: x.sum(); mean: x.mean(); softmax: x.softmax(0); log_softmax: x.log_softmax(0)
layer_norm: F.layer_norm(x, (4,)); pow: x.pow(2); cumsum: x.cumsum(0); norm: x.norm()
addbmm: t.addbmm(x, x[None], x[None]); conv_transpose1d: F.conv_transpose1d(x, x[:, :, None])
conv_transpose2d: F.conv_transpose2d(x[:, :, None], x[:, :, None, None])
conv_transpose3d: F.conv_transpose3d(x[:, :, None, None], x[:, :, None, None, None])
cosine_embedding_loss: F.cosine_embedding_loss(x, x, t.ones(4)); cdist: t.cdist(x, x)
poisson_nll_loss: F.poisson_nll_loss(x, x); trace: x.trace(); quantile: x.quantile(0.5)
ctc_loss: F.ctc_loss(x[:, None], t.ones(1, 2, dtype=t.int64), t.tensor([4]), t.tensor([2]))
margin_ranking_loss: F.margin_ranking_loss(x[0], x[0], x[0])
triplet_margin_loss: F.triplet_margin_loss(x, x, x); maximum: t.maximum(x, x)
multi_margin_loss: F.multi_margin_loss(x, t.zeros(4, dtype=t.int64)); relu: F.relu(x)
grid_sample: F.grid_sample(x[None, None], x[None, :, None, :2], align_corners=False)
avg_pool3d: F.avg_pool3d(x[None, None, None], 1); max_pool3d: F.max_pool3d(x[None, None, None], 1)
adaptive_avg_pool3d: F.adaptive_avg_pool3d(x[None, None, None], 1); fft_rfft: t.fft.rfft(x).real
linalg_cholesky: t.linalg.cholesky(x @ x.mH + 9 * t.eye(4)); fft_fft: t.fft.fft(x).real
linalg_inv: t.linalg.inv(x + 9 * t.eye(4)); inverse: t.inverse(x + 9 * t.eye(4))
avg_pool2d: F.avg_pool2d(x[None, None], 1); gelu: F.gelu(x); stack: t.stack([x, x])
linalg_eigh: t.linalg.eigh(x)[0]; linalg_qr: t.linalg.qr(x)[0]; linalg_svd: t.linalg.svd(x)[1]
linalg_solve: t.linalg.solve(x + 9 * t.eye(4), x); lstm: t.nn.LSTM(4, 3)(x[None])[0]
prelu: F.prelu(x, x[0, :1]); reflection_pad: F.pad(x[None], (1, 1), mode="reflect")
interpolate: F.interpolate(x[None], 8, mode="linear"); var: x.var(); logsumexp: x.logsumexp(0)
""") | {name: f"F.{name}(x.sigmoid(), x.sigmoid())" for name in _LOSSES}


AUTOCAST = {f"{name} {low}": (name, low) for name in CALLS for low in (False, True)}


def lowers(t, question):
    """Whether the operator works in few bits, given operands of few bits or not.

    The dtype of the result says so under PyTorch's autocast; here it is the operands'.
    """
    name, low = question
    if t is rt:
        y = rt.rand(*FLOATS).to(rt.float16 if low else rt.float32)
        with rt.amp.autocast("cpu", dtype=rt.float16):
            (operand,) = autocast.cast(f"aten::{name}", (y,))
        return operand.dtype == rt.float16
    x = t.rand(FLOATS).to(t.bfloat16 if low else t.float32)
    with t.autocast("cpu", dtype=t.bfloat16):
        out = eval(CALLS[name], {"t": t, "F": t.nn.functional, "x": x})  # noqa: S307
    return out.dtype is t.bfloat16
