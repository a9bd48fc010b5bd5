"""Samples whose whole outcome is PyTorch's: values, dtype, strides, gradients, warning, error class.

Names in them: `x`, `y` float64 (2, 3), `T` (2, 3, 4), `P` as `T` but permuted in memory, `v` (3,),
`M` (3, 3), `f` float32 (2, 3), `n` (2, 3) with nans, `k`, `l` int64 (2, 3), `u` uint8 and `b` bool
(2, 3), `i` indices, `c`, `d` complex128 (2, 3), `z` float64 of no dimension, `e` of size (0, 3).
"""

import contextlib
import copy
import io
import math
import pickle
import warnings

import numpy as np

from . import samples_exact_tensors as of_tensors
from .observed import raised
from .samples_exact_composed import COMPOSED, DATABASE, ODD_INPUTS
from .samples_exact_layers import DISTRIBUTIONS, IMAGES, LOSSES, WINDOWS
from .tables import calls

CONSTRUCTED = calls("""
torch.Tensor([1, 2]); torch.Tensor([[1, 2], [3, 4]]); torch.Tensor(2, 3).shape
torch.Tensor(3).shape; torch.Tensor(); torch.Tensor((2, 3)); torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor(x); torch.Tensor(f); torch.Tensor(f).data_ptr() == f.data_ptr()
torch.Tensor(np.arange(3)); torch.Tensor(np.ones((2, 2))); torch.Tensor([z, z])
torch.Tensor([v, v]); torch.Tensor([True, False]); torch.Tensor([2.5]).requires_grad
torch.Tensor(2.5); torch.Tensor('a'); torch.Tensor(2, 'a'); torch.Tensor(-1)
torch.Tensor([[1, 2], [3]]); torch.Tensor(None); torch.Tensor(range(3)); torch.tensor([v, v])
torch.tensor([z, 1]); torch.tensor([[z, z], [z, z]]); torch.tensor([x, x])
torch.tensor([k[0, 0], 2.5]); torch.tensor([np.float32(1), np.float32(2)])
torch.tensor([np.arange(2), np.arange(2)]); torch.tensor((1, 2.5, True)); torch.tensor(range(3))
torch.as_tensor([v[0], v[1]]); torch.LongTensor([1, 2]); torch.LongTensor(2, 3).shape
torch.LongTensor([1.0, 2.0]); torch.FloatTensor([1, 2]); torch.FloatTensor(x.tolist())
torch.FloatTensor(np.ones(2)); torch.FloatTensor(np.ones(2, np.float32))
torch.DoubleTensor([1, 2]); torch.IntTensor([1, 2]); torch.BoolTensor([True, False])
torch.ByteTensor([1, 0]); torch.HalfTensor([1, 2]); torch.ShortTensor([1, 2])
torch.CharTensor([1, 2]); torch.LongTensor(k); torch.LongTensor(x); torch.LongTensor(2.5)
isinstance(x, torch.DoubleTensor), isinstance(k, torch.LongTensor), isinstance(x, torch.FloatTensor)
isinstance(k, (torch.LongTensor, torch.IntTensor)), issubclass(torch.LongTensor, torch.Tensor)
torch.nn.Parameter(torch.ones(2)); torch.nn.Parameter(torch.ones(2), False).requires_grad
torch.tensor([np.int32(1), True]), torch.tensor([np.float16(1), 2]), torch.tensor([np.uint8(3), 1.5])
torch.tensor([np.arange(2, dtype=np.int32), [True, False]]), torch.tensor([k[0, 0].int(), True])
torch.tensor([np.float16(1), 2.5]), torch.tensor([np.float32(1), 1j]), torch.tensor([f[0, 0].half(), k[0, 0]])
torch.tensor([np.float64(1), 2.0]); torch.tensor([[1, 2], (np.float32(1), np.float64(2))])
torch.tensor([np.arange(2.0), [1, 2]]); torch.tensor([np.float16(1), 2.0]); torch.tensor([2.0, 1])
torch.tensor([torch.tensor(2.0), np.float64(3)]); torch.tensor([np.complex64(1), 2.0]); torch.tensor(np.ones(2))
torch.tensor([np.int64(3), 2**63]); torch.tensor([2**63]); torch.tensor([2**63, 1.0]); torch.tensor([[], []])
""")

INDEXED = calls("""
x[u]; x[u > 0]; T[u]; T[:, u[0]]; x[0][u[0]]; put(x, u, 7.0); put(x, b, 7.0)
put(T, (slice(None), u[0]), 7.0); x[[b]]; x[[0, 1]]; x[[[0, 1], [1, 2]]]; x[[i, i]]
x[[slice(None), 1]]; x[[slice(0, 1), i]]; x[[None, 0]]; x[[..., 0]]; x[[True, False]]; x[[0, None]]
x[(0, [1, 2])]; x[[0], [1]]; x[(i, i)]; x[i, None, i]; x[[i]]; x[:, [True, False, True]]
x[np.array([0, 1])]; x[np.array([True, False])]; x[np.int64(1)]; x[z.long()]; x[z > 0]
x[None, z > 0]; x[True], x[False]; x[k[0] % 2]; x[k.int()[0] % 2]; x[[]]; x[torch.tensor([])]
x[x > 5]; T[0, :, [0, 1]]; T[[0, 1], :, [0, 1]]; T[:, [0, 1], [0, 1]]; T[[[0], [1]], [0, 1]]; T[b]
T[b, 0]; T[..., i]; T[None, i]; T[i, ..., i]; P[:, :, [0, 3]]; P[[0, 1]]; P[0, [0, 1]]
P[..., 0, :]; x[-1], x[-2:], x[:, -1]; x[5:], x[:, 1:0]; put(x, [[0, 1], [1, 2]], 5.0)
put(x, [slice(None), 1], 5.0); put(x, i, y[i]); put(x, (0, [1, 2]), y[0, :2]); put(x, 0, k[0])
put(x, (slice(None), i), 3); put(T, b, T[b] * 2); put(T, (b, 0), 4.0); put(f, b, x[b])
put(k, b, 2.9); put(x, None, 3.0); put(x, ..., y); put(x, (), y); put(x, [], 3.0); x[2]; x[0, 0, 0]
x[torch.tensor([5])]; x[x]; x['a']; x[{}]; x[u[:1]]; x[b[:1]]; x[1.0]; put(x, b, y); put(x, 0, T)
put(x, [0, 1, 0], y); put(k, k > 0, torch.tensor(2)), put(k, k > 0, torch.tensor([2.7]))
put(k, k > 0, torch.ones(9))
""")
LAID_OUT = calls("""
P.softmax(1), P.softmax(0), P.softmax(-1).view(-1); P.log_softmax(1), P.log_softmax(2)
torch.cat([P, P]), torch.cat([P, T], 1), torch.cat([x.T, x.T], 1).view(-1)
torch.stack([P, P]), torch.stack([x.T, x.T], 2), torch.stack([P, T], 1).view(-1)
P.cumsum(0), P.cumsum(1), P.cumprod(2)
F.layer_norm(P, (4,)), F.layer_norm(P, (3, 4)).view(-1), F.layer_norm(x.T, (2,), x[:, 0], x[:, 1])
F.group_norm(P, 3); F.rms_norm(P, (4,))
F.batch_norm(P, None, None, training=True), F.batch_norm(x.T, v[:2].detach(), (v[:2] * v[:2] + 1).detach())
P.var(1), P.std(0), P.var(2, keepdim=True)
P.prod(1), P.sum(1), P.mean(0), P.amax(1), P.max(1), P.min(2), P.logsumexp(1), P.norm(2, 1)
P.argmax(1), P.any(1), P.all(0); P.sort(1), P.sort(0, descending=True), P.argsort(2), P.topk(2, 1)
P.roll(1, 2), P.tril(), P.triu(1), P.repeat(1, 2, 1), P.tile(2)
P.masked_fill(P > 0, 1.0), P.index_fill(1, i, 2.0), P.index_select(1, i), P.gather(1, i.view(2, 1, 1))
P.index_add(1, i, P[:, :2]), P.index_copy(1, i, P[:, :2]), P.scatter(1, i.view(2, 1, 1), 5.0)
P.exp(), P + 1, P * P, P + v[:, None], P > 0, P.clone(), P.abs(), P.erf(), F.gelu(P), F.gelu(P, approximate='tanh')
P.sigmoid(), P.tanh(), F.silu(P), F.elu(P), F.relu(P), F.softplus(P), F.hardswish(P), F.mish(P)
P.clamp(0), torch.where(P > 0, P, 0.0), torch.lerp(P, P, 0.5), P ** 2, P.round(), P.float(), P.long(), P.bool()
torch.zeros_like(P), torch.ones_like(P), torch.full_like(P, 2), torch.zeros_like(P, memory_format=torch.contiguous_format)
torch.zeros_like(x.expand(4, 2, 3)), torch.ones_like(x.T[:2]), torch.empty_like(P).stride(), torch.rand_like(P).stride()
F.pad(P, (1, 1)), F.dropout(P, 0.0), F.embedding(i, x.T.contiguous().T)
F.avg_pool1d(P, 2), F.max_pool1d(P, 2), F.adaptive_avg_pool1d(P, 2), F.conv1d(P, P[:1, :, :2])
P.contiguous(), P.contiguous().view(-1), P.reshape(-1), P.reshape(6, 4), P.flatten(1)
P.transpose(0, 1), P.permute(2, 1, 0), P.mT, P[0], P[:, 1:], P.unsqueeze(1), P.squeeze(), P.expand(2, 2, 3, 4)
P @ M[:1].expand(4, 3), P.transpose(1, 2) @ M, x.T @ x, torch.bmm(P, P.transpose(1, 2)), F.linear(P, T[0])
P.view(-1); x.T.view(-1); (x.T + 1).view(-1)
(f.half().expand(4, 2, 3) * 2).view(-1), f.half().T.expand(4, 3, 2) * 2, F.gelu(f.half().expand(4, 2, 3))
f.half().expand(4, 2, 3) + f.half()[:, :1].expand(2, 3), f.half()[:1].expand(2, 3).T.exp(), f[:0].half().expand(4, 0, 3) * 2
P.nan_to_num(), P.sgn(), P.neg(), -P, P.square(), P.rsqrt(), P.logical_not(), P.isnan()
F.one_hot(k.T + 4), torch.nonzero(b.T), torch.nonzero(b.T, as_tuple=True)
""")
GROUPS = {"constructed": CONSTRUCTED, "indexed": INDEXED, "laid_out": LAID_OUT}
GROUPS |= {"values": of_tensors.VALUES, "printed": of_tensors.PRINTED}
GROUPS |= {"arguments": of_tensors.ARGUMENTS, "names": of_tensors.NAMES}
GROUPS |= {"tensors": of_tensors.TENSORS, "spectrum": of_tensors.SPECTRUM}
GROUPS |= {"memory": of_tensors.MEMORY, "numbers": of_tensors.NUMBERS}
GROUPS |= {"distributions": DISTRIBUTIONS, "images": IMAGES, "losses": LOSSES, "windows": WINDOWS}
GROUPS |= {"database": DATABASE, "composed": COMPOSED, "odd_inputs": ODD_INPUTS}


def put(value, place, new):
    """A copy with an assignment to a place."""
    made = value.clone()
    made[place] = new
    return made


def names(torch):
    """What the samples may use, made anew with `torch` as given."""
    stream = np.random.default_rng(5)
    arrays = {"x": stream.uniform(-2, 2, (2, 3)), "y": stream.uniform(-2, 2, (2, 3))}
    arrays |= {"T": stream.uniform(-2, 2, (2, 3, 4)), "v": stream.uniform(-2, 2, 3)}
    arrays |= {"M": stream.uniform(-2, 2, (3, 3)), "k": stream.integers(-4, 5, (2, 3))}
    arrays |= {"l": stream.integers(1, 5, (2, 3)), "u": np.array([[1, 0, 1], [0, 0, 1]], np.uint8)}
    arrays |= {"b": np.array([[True, False, True], [False, True, True]]), "i": np.array([1, 0])}
    arrays |= {n: stream.uniform(-2, 2, (2, 3)) + 1j * stream.uniform(-2, 2, (2, 3)) for n in "cd"}
    arrays |= {"z": np.array(2.5), "e": np.empty((0, 3))}
    arrays |= {"f": arrays["x"].astype(np.float32), "n": arrays["x"].copy()}
    arrays["n"][0, 1] = arrays["n"][1, 0] = np.nan
    found = {name: torch.tensor(a) for name, a in arrays.items()}
    found["P"] = found["T"].permute(2, 0, 1).contiguous().permute(1, 2, 0)
    found |= {"I": found["T"][:, None], "W": found["T"][:, :2, :2][None]}
    image = torch.arange(120.0).reshape(2, 3, 4, 5).double().sin()
    volume = torch.arange(384.0).reshape(2, 3, 4, 4, 4).double().sin()
    found["image"] = image.contiguous(memory_format=torch.channels_last)
    found["volume"] = volume.contiguous(memory_format=torch.channels_last_3d)
    found["g"], found["B"] = torch.arange(4.0), torch.tensor([3, 255], dtype=torch.uint8)
    found["S"] = torch.tensor([3, -5], dtype=torch.int8)
    modules = (np, contextlib, copy, io, math, pickle)
    found |= {m.__name__.replace("numpy", "np"): m for m in modules}
    found |= {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "put": put}
    return found | {"D": torch.distributions, "raised": raised}


def described(value):
    """A value in lists, words and arrays; of a tensor its dtype, strides, whether it has a gradient."""
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__
        return [kind if kind in {"list", "Size"} else "tuple", *map(described, value)]
    if hasattr(value, "detach"):
        shape, steps = list(value.shape), value.stride()
        strides = [s for s, size in zip(steps, shape, strict=True) if size > 1]
        if 0 in shape:
            strides = []
        dtype = str(value.dtype).removeprefix("torch.")
        array = value.detach().resolve_conj().numpy()
        return [dtype, strides, value.requires_grad, np.ascontiguousarray(array).reshape(shape)]
    if isinstance(value, dict):
        return [[str(key), described(one)] for key, one in value.items()]
    if isinstance(value, np.generic):
        return value.item()
    known = value is None or isinstance(value, (bool, int, float, complex, str))
    return value if known else str(value).removeprefix("torch.")


ERRORS = (IndexError, NotImplementedError, ValueError, TypeError, AttributeError, RuntimeError)


def outcome(torch, code):
    """What `code` gives, the gradients of all that is floating, and warnings; or the error's class."""
    given = names(torch)
    try:
        with _as_in_a_new_process(torch), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plain = described(eval(code, given))  # noqa: S307
        said = sorted({w.category.__name__ for w in caught})
        return [plain, _gradients(torch, code), said]
    except Exception as error:
        return next((c.__name__ for c in ERRORS if isinstance(error, c)), type(error).__name__)


@contextlib.contextmanager
def _as_in_a_new_process(torch):
    """What ran before must not decide: PyTorch says some warnings once in a process, and the first
    torch.compile of a process turns the checks of distributions off.
    """
    if hasattr(torch, "storage"):  # whose warning comes once, whatever is set
        vars(torch.storage._warn_typed_storage_removal)["has_warned"] = True
    distribution = torch.distributions.Distribution
    checks = distribution._validate_args
    distribution.set_default_validate_args(True)
    says_always = torch.is_warn_always_enabled() if hasattr(torch, "set_warn_always") else None
    if says_always is not None:
        torch.set_warn_always(True)
    try:
        yield
    finally:
        distribution.set_default_validate_args(checks)
        if says_always is not None:
            torch.set_warn_always(says_always)


def _gradients(torch, code):
    given = names(torch)
    tensors = {k: t for k, t in given.items() if isinstance(t, torch.Tensor)}
    leaves = {k: t for k, t in tensors.items() if t.is_floating_point() or t.is_complex()}
    for leaf in leaves.values():
        leaf.requires_grad_()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = eval(code, given)  # noqa: S307
            outs = out if isinstance(out, (list, tuple)) else [out]
            outs = [t for t in outs if isinstance(t, torch.Tensor) and t.requires_grad]
            stream = np.random.default_rng(6)
            drawn = [stream.standard_normal(tuple(t.shape)) for t in outs]
            upward = [torch.tensor(a).to(t.dtype) for a, t in zip(drawn, outs, strict=True)]
            if not outs:
                return []
            found = torch.autograd.grad(outs, list(leaves.values()), upward, allow_unused=True)
    except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:
        return f"gradient: {type(error).__name__}"
    arrays = [None if g is None else g.detach().resolve_conj().numpy() for g in found]
    some = {k: a for k, a in zip(leaves, arrays, strict=True) if a is not None and a.any()}
    return [[name, np.ascontiguousarray(a)] for name, a in some.items()]
