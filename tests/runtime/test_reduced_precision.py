"""float16 and bfloat16: sums are taken in float32, as in PyTorch, and rounded once."""

import io
import math
import re
import subprocess
import sys

import numpy as np
import pytest

import tidy.runtime as rt

from .tables import calls

# `x` (3, 3000) and `y` (3, 3000) are standard normal, `p` is positive, `w` (3000, 4) and `v` (3000)
# are small, `c` (2, 5, 30) has channels, `i` are classes, `q` (2, 4, 40, 16) are heads; `s` are
# numbers that only float32 holds, and `h` a tensor that they scale.
RESULTS = calls("""
# sums, moments and what is normalized by them
torch.ones(1000, dtype=x.dtype).sum(); torch.ones(1000, 2, dtype=x.dtype).sum(0)
torch.ones(70000, dtype=x.dtype).mean(); torch.full((4, 3000), 100.0, dtype=x.dtype).mean(1)
torch.full((3000,), 30.0, dtype=x.dtype).norm(); torch.full((3000,), 0.01, dtype=x.dtype).norm(1)
p.norm(3, 1); torch.linalg.vector_norm(x, 2, 1); torch.linalg.norm(x); x.sum(1)
x.sum(1, dtype=torch.float32); x.mean(1); x.var(1); x.std(); x.cumsum(1)
(1 + 0.1 * x[:, :8]).prod(1); (1 + 0.01 * x[:, :50]).cumprod(1); x.logsumexp(1); x.softmax(1)
x.log_softmax(1); (0 * x).softmax(1); (0 * x).softmax(1).sum(1); x.softmax(0, dtype=torch.float32)
# products
x @ w; x @ x.T; x @ v; v.dot(v); torch.mv(x, v); torch.addmm(x[:, :4], x, w, beta=0.3, alpha=0.7)
torch.addmv(x[:, 0], x, v, beta=0.5, alpha=0.25)
torch.bmm(x[:, :1500].reshape(3, 5, 300), y[:, :1500].reshape(3, 300, 5))
torch.baddbmm(x[:, :9].reshape(3, 3, 3), x[:, :99].reshape(3, 3, -1), y[:, :99].reshape(3, -1, 3))
torch.einsum('ij,kj->ik', x, y); F.linear(x, w.T, x[0, :4])
# norms, losses and pools
F.layer_norm(x, (3000,)); F.layer_norm(x * 100 + 200, (3000,), y[0], y[1]); F.group_norm(c, 5)
F.batch_norm(c, None, None, training=True); F.rms_norm(x, (3000,)); F.normalize(x, dim=1)
F.cosine_similarity(x, y); F.mse_loss(x * 20, y * 20); F.l1_loss(x, y); F.smooth_l1_loss(x, y)
F.cross_entropy(x.T[:, :3] * 2, (torch.arange(3000) % 3)); F.nll_loss(x.log_softmax(1), i)
F.kl_div(x.log_softmax(1), y.softmax(1), reduction='sum')
F.binary_cross_entropy_with_logits(x, (y > 0).to(x.dtype))
F.conv2d(q, q[:, :, :7, :7].transpose(0, 1)[:, :1].expand(4, 4, 7, 7)); F.avg_pool1d(x, 1000)
F.adaptive_avg_pool1d(c, 1)
# elementwise
F.relu(x); x * 2 + 1; x.exp().sqrt()
F.gelu(x); F.gelu(x, approximate='tanh'); F.silu(x); F.mish(x); F.elu(x, 0.3); F.leaky_relu(x, 0.3)
F.hardswish(x); F.hardsigmoid(x); F.hardtanh(x, -0.3, 0.3); F.relu6(x * 5); F.softplus(x, 3, 0.2)
F.logsigmoid(x); F.softsign(x); x.sigmoid(); x.tanh(); x.erf(); p.rsqrt(); p.reciprocal()
torch.frac(x); torch.lerp(x, y, 0.4); torch.lerp(x, y, p); torch.addcmul(x, y, p, value=3.14)
torch.addcdiv(x, y, p, value=3.14); torch.add(x, y, alpha=0.3); torch.sub(x, y, alpha=0.3)
torch.hypot(x, y); torch.atan2(x, y); torch.logaddexp(x, y); x ** 3; p ** 0.5; p ** x; h * s[0]
h * torch.tensor(s[0]); h / s[1]; h + s[2]; s[0] - h; h.clone().mul_(s[0])
h.clone().add_(h, alpha=s[0]); torch.clamp(x, -0.1, 0.3); torch.clamp(x, max=0.3)
# comparisons, orders, indices
x == 0.1; x.round(decimals=2); x.median(); x.max(1); x.sort(1)[0]; x.topk(5, 1)[0]; x.argmax(1)
x.cumsum(0)[-1]; x.sum_to_size(1, 3000); torch.stack([x, y]).mean((0, 2)); F.embedding(i % 3, x)
F.max_pool1d(c, 2, return_indices=True); F.max_pool1d(c, 3, 2, 1); x.max(1)[0] + x[:, 0].half()
x + torch.ones(3000); x + torch.ones(()); x[:, i] * x[0, 0]; torch.cat([x, y])
# dtypes and numbers
torch.promote_types(x.dtype, torch.float64); torch.promote_types(x.dtype, torch.float16)
torch.promote_types(x.dtype, torch.bfloat16); torch.promote_types(x.dtype, torch.complex64)
torch.promote_types(x.dtype, torch.int64); (x + x.double()).dtype
(x[0] + torch.ones((), dtype=torch.float64)).dtype
(x * 1j).abs().dtype if x.dtype == torch.bfloat16 else 0
torch.finfo(x.dtype).max, torch.finfo(x.dtype).eps
torch.finfo(x.dtype).bits, torch.finfo(x.dtype).tiny
torch.arange(5, dtype=x.dtype); torch.linspace(0, 1, 7, dtype=x.dtype)
torch.full((2,), 0.1, dtype=x.dtype); torch.tensor([0.1, 70000.0], dtype=x.dtype)
torch.eye(2, dtype=x.dtype); x.tolist()[0][:3]; x[0, 0].item()
x.bool(), x.long(), x.float(), x.double(), x.half(), x.bfloat16()
""")
# Where PyTorch rounds to 16 bits on the way.
ROUNDED = calls("""
F.mse_loss(x, y, reduction='none'); F.conv1d(x[:, None], y[:4, None, :20]); F.cross_entropy(x, i)
F.scaled_dot_product_attention(q, q, q); F.scaled_dot_product_attention(q, q, q, is_causal=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(40, 40).tril().bool())
""")
# Of what has a gradient, but for those that PyTorch gives to one of several equals.
GRADIENTS = [c for c in RESULTS if not re.search("torch.tensor|tolist|sort|topk|max|median", c)]


def names(torch, kind):
    dtype, stream = getattr(torch, kind), np.random.default_rng(7)
    x, y = (torch.tensor(a).to(dtype) for a in stream.standard_normal((2, 3, 3000)))
    given = {"torch": torch, "F": torch.nn.functional, "x": x, "y": y, "p": y.abs() + 0.5}
    given["w"] = torch.tensor(stream.standard_normal((3000, 4)) / 50).to(dtype)
    given["v"] = torch.tensor(stream.standard_normal(3000) / 50).to(dtype)
    given["c"] = torch.tensor(stream.standard_normal((2, 5, 30)) * 3).to(dtype)
    given["q"] = torch.tensor(stream.standard_normal((2, 4, 40, 16))).to(dtype)
    given["h"] = torch.tensor([100.0, 3000.0, 60000.0]).to(dtype)
    given["i"] = torch.tensor([5, 0, 2999])
    return given | {"s": [1e-8, 1e5, 1e5]}


def described(value):
    """Dtypes by name, tensors as their dtype's and float64 numbers."""
    if isinstance(value, (list, tuple)):
        return [each for one in value for each in described(one)]
    if hasattr(value, "detach"):
        value = value.detach()
        numbers = value.double().numpy() if value.dtype.itemsize == 2 else value.numpy()
        return [str(value.dtype).removeprefix("torch."), numbers]
    if isinstance(value, (bool, int)):
        return [value]
    number = isinstance(value, np.generic) or value.__class__ is float
    return [float(value) if number else str(value).removeprefix("torch.")]


def alike(ours, theirs, rtol):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, np.ndarray):
            # What was rounded on the way is as large as others are.
            usual = np.median(np.abs(b)) if b.dtype.kind == "f" else 0
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.nan_to_num(usual))
        elif isinstance(b, float):
            assert math.isclose(a, b, rel_tol=rtol)
        else:
            assert a == b


def step(kind):
    return 2.0**-7 if kind == "bfloat16" else 2.0**-10


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("code", RESULTS + ROUNDED)
def test_results_are_within_a_rounding_of_pytorchs(code, kind):
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    ours, theirs = (described(eval(code, names(t, kind))) for t in (rt, torch))  # noqa: S307
    alike(ours, theirs, step(kind) * (8 if code in ROUNDED else 1))


def gradients(torch, kind, code):
    given = names(torch, kind)
    tensors = [x for x in given.values() if isinstance(x, torch.Tensor)]
    leaves = [x for x in tensors if x.is_floating_point()]
    for leaf in leaves:
        leaf.requires_grad_()
    out = eval(code, given)  # noqa: S307
    outs = out if isinstance(out, (list, tuple)) else [out]
    outs = [x for x in outs if isinstance(x, torch.Tensor) and x.requires_grad]
    if not outs:
        return []
    stream = np.random.default_rng(8)
    upward = [torch.tensor(stream.standard_normal(tuple(x.shape))).to(x.dtype) for x in outs]
    found = torch.autograd.grad(outs, leaves, upward, allow_unused=True)
    return [each for x in found if x is not None for each in described(x)]


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("code", GRADIENTS + ROUNDED)
def test_gradients_are_pytorchs(code, kind):
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    ours, theirs = (gradients(t, kind, code) for t in (rt, torch))
    alike(ours, theirs, step(kind) * (16 if code in ROUNDED else 8))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_what_is_known_by_hand(kind):
    pytest.importorskip("ml_dtypes")
    ones = rt.ones(1000).to(getattr(rt, kind))
    row, number = rt.arange(1, 99).to(ones.dtype) / 3, rt.tensor(0.3).to(ones.dtype)
    assert rt.equal(row % 0.3, row % number)
    assert not rt.equal(row * 0.3, row * number)
    assert ones.sum().item() == 1000
    assert (ones * 60).norm().item() == pytest.approx(60 * 1000**0.5, rel=0.004)
    assert (ones * 600).mean().item() == 600
    assert (ones[:, None] @ ones[None]).dtype == ones.dtype
    assert (ones[None] @ ones[:, None]).item() == 1000
    assert rt.promote_types(ones.dtype, rt.float64) == rt.float64


def test_states_come_back_and_autocast_computes_in_bfloat16():
    pytest.importorskip("ml_dtypes")
    with rt.autocast("cpu"):
        assert (rt.ones(2, 2) @ rt.ones(2, 2)).dtype == rt.bfloat16
        assert (rt.ones(2, 2) + 1).dtype == rt.float32
    model, file = rt.nn.Linear(2, 3).to(rt.bfloat16), io.BytesIO()
    whole = rt.arange(6).to(rt.bfloat16).view(2, 3)
    given = {"model": model.state_dict(), "dtype": rt.bfloat16, "whole": whole, "part": whole.T[1:]}
    rt.save(given, file)
    found = rt.load(file)
    assert found["dtype"] == found["part"].dtype == rt.bfloat16
    assert rt.equal(found["whole"], whole)
    found["whole"].zero_()
    assert found["part"].shape == (2, 2)
    assert not found["part"].any()
    for name, tensor in model.state_dict().items():
        assert rt.equal(found["model"][name], tensor)


IMAGES, PAIR = rt.ones(2, 3, 5, 5), rt.ones(2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda nn: nn.adaptive_avg_pool1d(IMAGES[0], 2),
        lambda nn: nn.adaptive_avg_pool2d(IMAGES, 2),
        lambda nn: nn.adaptive_avg_pool3d(IMAGES, 2),
        lambda nn: nn.interpolate(IMAGES, size=(2, 2), mode="area"),
        lambda nn: nn.bilinear(PAIR, PAIR, rt.ones(5, 2, 2)),
        lambda _: rt.einsum("i,j->ij", PAIR[0], PAIR[1]),
        lambda _: rt.einsum("ij,ij->ij", PAIR, PAIR),
        lambda _: rt.einsum("ij,j->ij", PAIR, PAIR[0]),
    ],
)
def test_autocast_leaves_what_is_no_product_in_pytorch(call):
    pytest.importorskip("ml_dtypes")
    with rt.autocast("cpu"):
        assert call(rt.nn.functional).dtype == rt.float32
        assert rt.einsum("ij,jk->ik", PAIR, PAIR).dtype == rt.bfloat16


def passes(code, *options):
    """Run in a process of its own."""
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_ml_dtypes_the_name_is_there_and_its_use_is_refused():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import tidy.runtime as torch
kind = torch.bfloat16
assert torch.ones(1).dtype != kind and kind != torch.float32 and kind == torch.bfloat16
assert {kind: 1}[torch.bfloat16] == 1 and kind not in (torch.float16, torch.float32)
assert "bfloat16" in repr(kind)
for use in (
    lambda: torch.ones(2, dtype=kind), lambda: torch.ones(2).to(kind), torch.ones(2).bfloat16,
    lambda: torch.nn.Linear(2, 2).to(kind), torch.nn.Linear(2, 2).bfloat16,
    lambda: torch.finfo(kind),
    lambda: torch.autocast("cpu", dtype=kind).__enter__(),
    lambda: torch.set_default_dtype(kind),
):
    try:
        use()
    except RuntimeError as error:
        assert "ml_dtypes" in str(error)
    else:
        raise AssertionError("not refused")
"""
    passes(code)


def test_numpys_warnings_do_not_leak():
    code = """
import tidy.runtime as torch
x = torch.tensor([1e30, 0.0, -1.0], requires_grad=True)
h = torch.tensor([6e4, 1e-4, 1e9], dtype=torch.float16)
for y in (x * x * x, 1 / x, x.log(), x.sqrt(), x / 0, x**0.5, (x * 1e30) @ x, x.exp(), x.half()):
    y.sum().backward()
    h + h, h * h, h @ h, h.exp(), h.sum(), (h * 2).half(), torch.empty(0).mean(), h[:0].var()
    h.long(), x.long(), x.double().float(), torch.empty(0).std(), torch.tensor([1.0]).std()
"""
    passes(code, "-W", "error", "-W", "ignore:var()")
