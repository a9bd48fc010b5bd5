"""Samples of operators: an expression in `torch` and its tensors, with their shapes and ranges.

One row serves several tests: values, gradients and second gradients as PyTorch's (questions.py), the
same under an observer and on a device. `lo`, `hi` bound the random inputs; `x`, `y`, `z` are float64
inputs that require a gradient, `i` int64 indices, `m` a mask.
"""

import operator
from typing import NamedTuple

import numpy as np

from .tables import calls


class Sample(NamedTuple):
    code: str
    shapes: tuple = ((3, 4),)
    lo: float = -2.0
    hi: float = 2.0
    twice: bool = True  # whether the second derivative is checked
    rtol: float = 1e-9  # against PyTorch


S = Sample
TWO = ((3, 4), (3, 4))


def shaped(table):
    """A sample for each row of a table: `code`, `code of shapes`, and `with` further fields."""
    rows = [row.partition(" with ")[::2] for row in calls(table)]
    made = [(*row.partition(" of ")[::2], fields) for row, fields in rows]
    return [
        S(code, **({"shapes": eval(f"({shapes},)")} if shapes else {}), **eval(f"dict({fields})"))  # noqa: S307
        for code, shapes, fields in made
    ]


UNARY = "neg abs sign exp expm1 exp2 sin cos tan sinh cosh tanh asinh atan floor ceil trunc round frac sigmoid relu celu erf square clone positive sgn sinc"
POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal"
SAMPLES = [
    *[S(f"torch.{n}(x)") for n in UNARY.split()],
    *[S(f"torch.{n}(x)", lo=0.2) for n in POSITIVE.split()],
    *[S(f"torch.{n}(x)", lo=-0.8, hi=0.8) for n in ("asin", "acos", "atanh")],
    S("torch.acosh(x)", lo=1.2, hi=3.0),
    *[S(f"torch.{n}(x)", lo=0.6, hi=3.0, rtol=1e-8) for n in ("lgamma", "digamma")],
    *[S(f"torch.polygamma({n}, x)", lo=0.6, hi=3.0, rtol=1e-8, twice=n > 1) for n in (1, 2)],
    *[S(f"torch.{n}(x)", lo=-0.8, hi=0.8) for n in ("erfc", "erfinv", "deg2rad", "rad2deg")],
    *[S(f"torch.{n}(x, y)", TWO) for n in ("fmax", "fmin")],
    *shaped("""
    torch.xlogy(x, y) of (3, 4), (3, 4) with lo=0.3; torch.add(x, y, alpha=2) of (3, 4), (3, 4)
    torch.sub(x, y, alpha=0.5) of (3, 4), (3, 4); torch.where(m, x, y) of (3, 4), (3, 4)
    F.hardshrink(x, 0.7); F.softshrink(x, 0.7); x.as_strided((2, 2), (1, 2)); x.diag_embed(1)
    x.nanmedian(0).values; x.nanmedian(); x ** 0; x ** 2.0; x % 0.7; torch.clamp(x, -0.5, 0.5)
    torch.where(m, x, 2.0); x.clamp(min=0.1); x.clamp(max=0.1); torch.masked_fill(x, m, 3.0)
    torch.linalg.svdvals(x) with rtol=1e-7; torch.linalg.eigvalsh(x + x.mH) of (3, 3) with rtol=1e-7
    (torch.linalg.eigh(x + x.mH).eigenvectors.abs() ** 2) of (3, 3) with rtol=1e-7, twice=False
    (torch.linalg.qr(x).R.abs() ** 2) of (3, 3) with rtol=1e-7, twice=False
    (torch.linalg.svd(x, False).U.abs() ** 2) with rtol=1e-7, twice=False
    """),
    *[S(f"x {o} y", TWO) for o in "+-*/"],
    *[S(f"x {o} y", ((3, 1), (4,)), lo=0.3) for o in ("+", "-", "*", "/", "**")],
    *[S(f"x {o} 3") for o in ("+", "-", "*", "/", "**")],
    *[S(f"2.5 {o} x", lo=0.3) for o in ("+", "-", "*", "/")],
    S("2.5 ** x", lo=0.3, rtol=1e-6),  # PyTorch takes log(2.5) in float32
    S("x ** 0.5", lo=0.2),
    *[S(f"torch.{n}(x, y)", TWO, lo=0.3) for n in ("remainder", "fmod")],
    *[S(f"torch.{n}(x, y)", TWO) for n in ("maximum", "minimum")],
    S("torch.atan2(x, y)", TWO, lo=0.2),
    S("torch.lerp(x, y, z)", ((3, 4), (3, 4), (3, 4))),
    S("torch.addcmul(x, y, z, value=2)", ((3, 4), (3, 4), (4,))),
    S("torch.addcdiv(x, y, z, value=2)", ((3, 4), (3, 4), (4,)), lo=0.4),
    # reductions
    *[S(f"torch.{n}(x)") for n in "sum mean var std prod amax amin max min".split()],
    *[S(f"torch.{n}(x, 1)") for n in ("sum", "mean", "prod", "amax", "amin", "cumsum", "cumprod")],
    *[S(f"torch.{n}(x, dim=-1, keepdim=True)") for n in ("sum", "mean", "var", "std", "amax")],
    *[S(f"torch.{n}(x, (0, 2))", ((2, 3, 2),)) for n in ("sum", "mean", "amax", "logsumexp")],
    *[S(f"sum(torch.{n}_mean(x, 0, unbiased=False))") for n in ("var", "std")],
    *shaped("""
    torch.max(x, 1)[0]; x.min(0, keepdim=True).values; torch.logsumexp(x, 1)
    torch.prod(x * torch.tensor([0.0, 1, 1, 1], dtype=torch.float64), 1)
    torch.cumprod(x * torch.tensor([1, 0.0, 1, 1], dtype=torch.float64), 1); torch.norm(x)
    """),
    *[S(f"torch.norm(x, {p}, dim=1)") for p in ("2", "1", "3", "float('inf')")],
    # matrix products
    *shaped("""
    x @ y of (3, 4), (4, 2); x @ y of (4,), (4,); x @ y of (3, 4), (4,); x @ y of (4,), (4, 2)
    x @ y of (2, 3, 4), (4, 2); x @ y of (2, 3, 4), (2, 4, 2)
    torch.bmm(x, y) of (2, 3, 4), (2, 4, 2); torch.einsum('bij,bjk', x, y) of (2, 3, 4), (2, 4, 2)
    x @ y of (2, 1, 3, 4), (3, 4, 2); x @ y of (4,), (2, 4, 3); x @ y of (2, 3, 4), (4,)
    torch.mm(x, y.t()) of (3, 4), (3, 4)
    torch.addmm(x, y, z, beta=2, alpha=3) of (2,), (3, 4), (4, 2); torch.outer(x, y) of (3,), (4,)
    torch.dot(x, y) of (4,), (4,); F.linear(x, y, z) of (3, 4), (2, 4), (2,)
    F.linear(x, y, z) of (2, 3, 4), (2, 4), (2,); F.linear(x, y) of (3, 4), (2, 4)
    torch.einsum('ij,jk->ik', x, y) of (3, 4), (4, 2); torch.einsum('ii->i', x) of (3, 3)
    torch.einsum('...i,i->...', x, y) of (2, 3, 4), (4,)
    """),
    # views
    *shaped("""
    x.view(2, 6); x.view(-1); x.t().reshape(2, -1); x.transpose(0, 1); x.unsqueeze(1)
    x.narrow(1, 1, 2); x.unfold(1, 2, 1); x.diagonal(1); x.diagonal(-1); x.select(1, 2); x.T; x[1]
    x[-1]; x[1:]; x[:, 1]; x[::2, 1:3]; x[None]; x[..., 0]; x[m]; x[i]; x[i, i]; x[:, i]; x[[0, 2]]
    x[1, i]; x[...]; x[i[:, None], i]; torch.split(x, 2, 1)[0] * torch.split(x, [1, 3], 1)[1][:, :2]
    x.chunk(2, 1)[1]; x.unbind(1)[2] * x.unbind(1)[0]; x.repeat(2, 1, 2); x.flip(0, 1); x.roll(1, 1)
    x.roll((1, 2), (0, 1)); x.roll(5); x.tril(); x.triu(1); x.gather(1, i.reshape(3, 1))
    x.index_select(1, i); x.masked_select(m); x.permute(2, 0, 1) of (2, 3, 4)
    x.expand(2, 3, -1) of (1, 4); x.squeeze(1) of (3, 1, 4); x.squeeze() of (3, 1, 1)
    x.flatten(1) of (2, 3, 2); x.movedim(0, 2) of (2, 3, 2)
    torch.cat([x, y * 2], 1) of (3, 4), (3, 4); torch.stack([x, y, x], 1) of (3, 4), (3, 4)
    x.index_add(0, i, y) of (3, 4), (3, 4); x.index_put((i,), y, accumulate=True) of (3, 4), (3, 4)
    x.scatter(1, i.reshape(3, 1), y) of (3, 4), (3, 1)
    x.scatter_add(1, i.reshape(3, 1), y) of (3, 4), (3, 1); x.index_put((i, i), y) of (3, 4), (3,)
    """),
    # activations and losses
    *[S(f"F.{n}(x)") for n in "leaky_relu elu softplus silu gelu hardtanh logsigmoid".split()],
    *shaped("""
    F.gelu(x, approximate='tanh'); F.softmax(x, 1); F.log_softmax(x, 0); F.nll_loss(x, i)
    F.cross_entropy(x, i); F.cross_entropy(x, i, label_smoothing=0.1, reduction='sum')
    F.cross_entropy(x, i, weight=torch.tensor([1.0, 2, 3, 4], dtype=torch.float64), label_smoothing=0.1)
    F.cross_entropy(x, i, ignore_index=1)
    F.cross_entropy(x, torch.full((3, 4), 0.25, dtype=torch.float64))
    x.to(torch.float64) * x.double()
    """),
    *[
        S(f"F.{n}(x, y, reduction='{r}')", TWO)
        for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for r in ("mean", "sum", "none")
    ],
    *shaped("""
    F.smooth_l1_loss(x, y, beta=0.3) of (3, 4), (3, 4)
    F.huber_loss(x, y, delta=0.3) of (3, 4), (3, 4)
    F.kl_div(x, y, log_target=True) of (3, 4), (3, 4)
    """),
    S("F.binary_cross_entropy(x, y)", TWO, lo=0.1, hi=0.9),
    S("F.binary_cross_entropy_with_logits(x, y)", TWO, lo=0.1, hi=0.9),
    S("F.kl_div(x, y, reduction='batchmean')", TWO, lo=0.1, hi=0.9),
    # operands that promote, and what the table gained
    *[S(f"torch.{n}(x, y)", TWO, lo=0.3) for n in ("logaddexp", "hypot")],
    *shaped("""
    torch.clamp(x, y, z) of (3, 4), (3, 4), (3, 4); torch.nan_to_num(x); x.sort(1)[0]
    x.sort(0, descending=True).values; torch.topk(x, 2, 1)[0]
    x.topk(1, dim=0, largest=False).values; x.median(); torch.gather(x, 1, x.argsort(1))
    x.index_fill(1, i, 2.0); torch.take_along_dim(x, x.argsort(1), 1); x.repeat_interleave(2, 1)
    torch.tile(x, (2, 1)); F.pad(x, (1, 2)); F.pad(x, (1, -1, 0, 2), value=3.0)
    torch.einsum('ij->', x); x.unflatten(1, (2, 2)); x.swapaxes(0, 1)
    x.square_() if False else torch.square(x); F.normalize(x, dim=1)
    x.index_copy(0, torch.tensor([2, 0]), y) of (3, 4), (2, 4)
    torch.meshgrid(x, y, indexing='ij')[0] * torch.meshgrid(x, y, indexing='xy')[1].T of (3,), (4,)
    torch.baddbmm(x, y, z, beta=2, alpha=3) of (2, 3, 2), (2, 3, 4), (2, 4, 2)
    torch.einsum('bhid,bhjd->bhij', x, y) of (2, 2, 3, 4), (2, 2, 5, 4)
    torch.einsum('ij,jk,kl->il', x, y, z) of (3, 4), (4, 2), (2, 3)
    torch.einsum('i,j->ij', x, y) of (3,), (4,)
    """),
    *[S(f"F.{n}") for n in "relu6(x) mish(x) hardswish(x) softsign(x) threshold(x,0.1,7)".split()],
    S("F.hardsigmoid(x)", twice=False, rtol=1e-6),  # PyTorch takes 1 / 6 in float32
    S("F.cosine_similarity(x, y)", TWO),
    # convolution and pooling
    *shaped("""
    F.conv1d(x, y, z) of (2, 3, 7), (4, 3, 3), (4,)
    F.conv1d(x, y, stride=2, padding=1, dilation=2) of (2, 3, 9), (4, 3, 3)
    F.conv2d(x, y, z) of (2, 3, 5, 6), (4, 3, 3, 2), (4,)
    F.conv2d(x, y, stride=(2, 1), padding=(1, 2), dilation=(1, 2)) of (2, 2, 6, 7), (3, 2, 3, 2)
    F.conv2d(x, y, groups=2) of (2, 4, 5, 5), (6, 2, 3, 3)
    F.conv2d(x, y, padding=1) of (9, 2, 4, 4), (2, 2, 3, 3); F.conv2d(x, y) of (2, 3, 3, 3), (2, 3, 1, 1)
    F.conv2d(x, y, stride=2) of (2, 3, 3, 3), (2, 3, 1, 1)
    F.conv2d(x, y, padding='same') of (1, 2, 5, 5), (2, 2, 3, 2)
    F.conv2d(x, y) of (2, 5, 5), (3, 2, 2, 2); F.max_pool1d(x, 2) of (2, 3, 7)
    F.max_pool2d(x, 2) of (2, 3, 6, 4); F.max_pool2d(x, 3, 2, ceil_mode=True) of (1, 2, 6, 7)
    F.avg_pool2d(x, 2, divisor_override=3) of (1, 2, 4, 4)
    F.max_pool2d(x, 3, stride=1, padding=1, dilation=1) of (1, 2, 5, 5)
    F.max_pool2d(x, (2, 3), return_indices=True)[0] of (1, 2, 4, 6)
    F.avg_pool1d(x, 3, stride=2) of (2, 3, 7); F.avg_pool2d(x, 2) of (2, 3, 6, 4)
    F.avg_pool2d(x, 3, stride=2, padding=1) of (1, 2, 5, 5)
    F.avg_pool2d(x, 3, 1, 1, count_include_pad=False) of (1, 2, 5, 5)
    F.adaptive_avg_pool2d(x, (2, 3)) of (1, 2, 5, 7); F.adaptive_avg_pool2d(x, 1) of (2, 3, 4, 4)
    F.adaptive_avg_pool1d(x, 3) of (2, 3, 7)
    """),
    # normalization, embedding, attention
    *shaped("""
    F.layer_norm(x, (4,), y, z) of (3, 4), (4,), (4,); F.layer_norm(x, (3, 4)) of (2, 3, 4)
    F.batch_norm(x, None, None, y, z, training=True) of (4, 3, 2), (3,), (3,)
    F.batch_norm(x, torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64), y, z) of (3, 4), (4,), (4,)
    F.group_norm(x, 2, y, z) of (2, 4, 3), (4,), (4,); F.rms_norm(x, (4,), y) of (3, 4), (4,)
    F.embedding(i, x); F.embedding(i, x, padding_idx=0)
    """),
    S("F.embedding(i, x, padding_idx=0) * x"),  # whose gradient's gradient is one of rows
    *shaped("""
    F.embedding(i, x, scale_grad_by_freq=True) with twice=False
    F.unfold(x, 2, padding=1) of (1, 2, 3, 4); F.fold(x, (3, 4), 2, stride=(1, 2)) of (1, 8, 4)
    F.scaled_dot_product_attention(x, y, z) of (2, 3, 4), (2, 5, 4), (2, 5, 6)
    F.scaled_dot_product_attention(x, y, z, is_causal=True) of (2, 3, 4), (2, 3, 4), (2, 3, 4)
    F.scaled_dot_product_attention(x, y, z, attn_mask=m[:, :3]) of (3, 4), (3, 4), (3, 4) with twice=False
    """),
    # linalg and fft
    *shaped("""
    torch.linalg.inv(x + 5 * torch.eye(3, dtype=torch.float64)) of (2, 3, 3)
    torch.linalg.det(x) of (2, 3, 3); torch.linalg.slogdet(x)[1] of (3, 3)
    torch.linalg.solve(x + 5 * torch.eye(3, dtype=torch.float64), y) of (2, 3, 3), (2, 3, 2)
    torch.linalg.solve(x + 5 * torch.eye(3, dtype=torch.float64), y) of (3, 3), (3,)
    torch.linalg.cholesky(x @ x.mT + 5 * torch.eye(3, dtype=torch.float64)) of (3, 3)
    torch.linalg.norm(x); torch.linalg.norm(x, 1) + torch.linalg.norm(x, float('inf'))
    torch.linalg.vector_norm(x, 3, dim=1); torch.fft.rfft(x).abs()
    torch.fft.rfft(x, n=6, norm='ortho').real * 2; torch.fft.fft(x, dim=0).imag
    (torch.fft.ifft(x, n=3) * (1 + 2j)).real; torch.fft.irfft(torch.fft.rfft(x) / (2 - 1j), n=5)
    torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y), n=4) of (3, 4), (3, 4)
    torch.view_as_real(torch.complex(x, y) ** 2) of (3, 4), (3, 4)
    (torch.complex(x, y).conj() @ torch.complex(y, x).T).abs().sum(1) of (3, 4), (3, 4)
    torch.complex(x, y).exp().real of (3, 4), (3, 4)
    """),
    # what else has a gradient: other names, methods, and operators that are methods
    *[S(f"torch.{n}(x)") for n in ("absolute", "negative", "atleast_1d", "angle")],
    *[
        S(f"torch.{n}(x, y)", TWO, lo=0.3)
        for n in ("arctan2", "divide", "multiply", "subtract", "true_divide", "mul", "pow")
    ],
    *[S(f"torch.div(x, y, rounding_mode={m!r})", TWO, lo=0.3) for m in ("floor", "trunc", None)],
    *shaped("""
    torch.clip(x, -0.5); torch.take(x, i); torch.resolve_conj(x); torch.argsort(x, 1) * x
    x.sum_to_size(1, 4); x.T.contiguous(); x.cpu(); x.H; abs(x); -x; +x; [*x][1]; sum(x)
    torch.concat([x, y]) of (3, 4), (3, 4); torch.complex(x, y).angle() of (3, 4), (3, 4)
    torch.complex(x, y).H.imag + torch.complex(x, y).T.real of (3, 4), (3, 4)
    x.where(m, y) of (3, 4), (3, 4); x.type_as(y) of (3, 4), (3, 4)
    torch.matmul(x, y) of (3, 4), (4, 2); torch.mv(x, y) of (3, 4), (4,)
    torch.addmv(x, y, z, beta=2, alpha=3) of (3,), (3, 4), (4,)
    torch.addbmm(x, y, z, beta=2, alpha=3) of (3, 2), (2, 3, 4), (2, 4, 2)
    torch.view_as_complex(x).abs() of (3, 2); x.expand_as(y) of (4,), (3, 4)
    x.reshape_as(y) of (3, 4), (2, 6); x.view_as(y) of (3, 4), (2, 6)
    """),
    *[S(f"F.{n}(x, 0)", ((),)) for n in ("softmax", "log_softmax")],
    *[S(f"x.{n}", ((),)) for n in ("sum(0)", "cumsum(0)", "sort()[0]", "max(0)[0]", "flip(0)")],
    S("x[x > -5]", ((),)),
    S("operator.matmul(x, y)", ((3, 4), (4, 2))),
]
assert len({s[:2] for s in SAMPLES}) == len(SAMPLES)


def inplace(tensor, change):
    change(tensor)
    return tensor


def arrays(sample):
    """The sample's inputs: the same for both libraries."""
    stream = np.random.default_rng(7)
    return [stream.uniform(sample.lo, sample.hi, s) for s in sample.shapes]


def evaluate(torch, sample, tensors):
    """The sample's value, with `torch` as given."""
    device = tensors[0].device if tensors else "cpu"
    mask = torch.tensor([[True, False, True, False], [False] * 4, [True] * 4], device=device)
    names = dict(zip("xyz", tensors, strict=False))
    names |= {"torch": torch, "F": torch.nn.functional, "m": mask, "inplace": inplace}
    once = "index_put((i, i)" in sample.code or "index_put_((i,)" in sample.code
    names |= {"i": torch.tensor([2, 0, 1 if once else 2], device=device), "operator": operator}
    return eval(sample.code, names)  # noqa: S307


def step(torch, sample, create_graph=False):
    """The value and the gradients, of a backward that records no graph unless it is asked to."""
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays(sample)]
    torch.manual_seed(0)
    out = evaluate(torch, sample, tensors)
    if out.requires_grad:
        (out.abs() if out.is_complex() else out).sum().backward(create_graph=create_graph)
    return [out, *[t.grad for t in tensors]]


def run(torch, sample, imaginary=False):
    """Value, gradients and second gradients as arrays, of real inputs or of complex ones."""
    stream, given = np.random.default_rng(9), arrays(sample)
    if imaginary:
        given = [a + 1j * stream.uniform(sample.lo, sample.hi, a.shape) for a in given]
    tensors = [torch.tensor(a, requires_grad=True) for a in given]
    out = evaluate(torch, sample, tensors)
    phases = np.arange(out.numel()).reshape(tuple(out.shape))
    total = out * torch.tensor(np.exp(1j * phases) if imaginary else np.cos(phases))
    total = (total.real if imaginary else total).sum()
    more = {"materialize_grads": True}
    grads = torch.autograd.grad(total, tensors, create_graph=True, **more)
    length = sum((g * g.conj()).real.sum() if imaginary else (g * g).sum() for g in grads)
    results = [out, *grads]
    if sample.twice and length.requires_grad:
        results += torch.autograd.grad(length, tensors, **more)
    return [result.numpy(force=True) for result in results]
