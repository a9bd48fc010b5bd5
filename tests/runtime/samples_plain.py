"""Samples of what has no gradient: an expression, whose value, dtype and shape are as PyTorch's.

Names in them: `x`, `y` float64 (3, 4), `w` float32 with infinities and nan, `k`, `l` int64 (3, 4),
`b`, `d` bool (3, 4), `c` complex128 (3,), `i` indices, `s` a number as a 0-d tensor. A list of
tensors and a tuple of them are alike; numbers and words count with their type.
"""

import copy
import io
import math
import operator
import pickle

import numpy as np

from .tables import calls

INTS = "k, l", "b, d", "k, 3", "k, b"
FOREACH = {
    "add sub mul div maximum minimum pow": ("2", "[y * y, x * x]", "[1, 2]"),
    "addcmul addcdiv": ("[x, y], [y + 3, x + 3]", "[x, y], [y + 3, x + 3], 0.5"),
    "lerp": ("[y, x], 0.3", "[y, x], [x, y]"),
    "sqrt reciprocal neg": ("",),
}
PLAIN = [
    # comparisons and logic
    *[f"torch.{n}({a})" for n in ("eq", "ne", "lt", "le", "gt", "ge") for a in ("x, y", "k, l", "x, 0.5", "k, 2.5", "w, w", "b, d", "x, s")],
    *[f"torch.{n}({a})" for n in ("greater", "less") for a in ("x, y", "k, 2")],
    *[f"{a} {o} {b}" for o in ("==", "!=", "<", "<=", ">", ">=") for a, b in (("x", "y"), ("k", "2"), ("0.5", "x"))],
    "(x == None, x != 'word')",
    *[f"torch.logical_{n}({a})" for n in ("and", "or", "xor") for a in ("b, d", "x, k", "w, w")],
    *[f"torch.logical_not({a})" for a in "bkxw"],
    *[f"inplace({a}, lambda t: t.logical_not_())" for a in "bkx"],
    *[f"torch.bitwise_{n}({a})" for n in ("and", "or", "xor") for a in INTS],
    *[f"inplace(k, lambda t: t.bitwise_{n}_({a}))" for n in ("and", "or", "xor") for a in ("l", "5")],
    *[f"k {o} l" for o in "&|^"],
    *[f"b {o} d" for o in "&|^"],
    *[f"{a}(k)" for a in ("operator.invert", "torch.bitwise_not")],
    "~b",
    "inplace(k, lambda t: t.bitwise_not_())",
    *[f"torch.{n}({a})" for n in ("isnan", "isinf", "isfinite") for a in "wkbc"],
    *[f"({a}).{n}()" for n in ("all", "any") for a in ("b", "k", "x > 5", "w")],
    *[f"{a}.{n}(1)" for n in ("all", "any") for a in "bkx"],
    *[f"b.{n}(0, keepdim=True)" for n in ("all", "any")],
    "k.to(torch.uint8).any(1)",
    # arithmetic without derivatives
    *[f"torch.floor_divide({a})" for a in ("x, y", "k, l + 5", "k, 3", "x, 0.7", "k, 1.5")],
    *calls("""
    x // 0.7; 1.7 // x; 0.7 % x; 7 % (l + 5)
    """),
    *[f"torch.div({a}, rounding_mode={m!r})" for a in ("k, l + 5", "k, 3", "k, 2.5", "-k, 2") for m in ("floor", "trunc")],
    "operator.floordiv(k, 3)",
    "operator.mod(k, -3)",
    "inplace(x, lambda t: t.floor_divide_(0.3))",
    *[f"inplace(x / 5, lambda t: t.{n}_())" for n in ("atanh", "asinh")],
    "inplace(x * x + 1.5, lambda t: t.acosh_())",
    *[f"torch.fmod({a})" for a in ("k, 3", "-k, 3", "w, 2")],
    *[f"torch.remainder({a})" for a in ("k, 3", "-k, 3", "w, 2")],
    *[f"torch.{n}(w)" for n in ("sign", "sgn", "abs", "floor", "ceil", "round", "trunc", "frac", "relu", "nan_to_num", "positive", "erf", "exp", "log", "sqrt", "sigmoid", "square")],
    *[f"torch.{n}(w, w.flip(0))" for n in ("maximum", "minimum")],
    *[f"torch.{n}(w, 0)" for n in ("max", "min")],
    *[f"torch.{n}(w)" for n in ("max", "min", "amax", "amin")],
    *[f"F.{n}(w)" for n in ("leaky_relu", "elu", "softplus", "silu", "hardtanh", "logsigmoid", "relu6", "mish", "hardswish", "hardsigmoid", "softsign")],
    *calls("""
    torch.clamp(w, 0, 1); torch.nan_to_num(w, 1.0, 2.0, 3.0); torch.round(x, decimals=1)
    torch.angle(c); torch.angle(k)
    c.is_complex(), x.is_complex(), k.is_floating_point(), x.is_floating_point()
    """),
    # operators with numbers on both sides
    *[f"k {o} 2" for o in ("+", "-", "*", "/", "**", "//", "%")],
    *[f"5 {o} l.abs()" for o in ("+", "-", "*", "**")],
    *[f"k {o} 2.5" for o in ("+", "-", "*", "/", "**", "//", "%")],
    *[f"operator.{n}(k, l)" for n in ("add", "sub", "mul", "truediv")],
    *[f"operator.{n}(k * 1, 2)" for n in ("iadd", "isub", "imul")],
    "operator.matmul(k, l.T), x.__rmatmul__(y.T)",
    "operator.neg(k), operator.pos(k), operator.abs(k)",
    # where the largest are, order, counts
    *[f"torch.{n}({a})" for n in ("argmax", "argmin") for a in ("x", "k", "x, 1", "x, 0, True", "k, -1", "w.reshape(3, 3)")],
    *[f"torch.{n}(x, 1)" for n in ("max", "min")],
    *[f"torch.{n}({a}, 1)" for n in ("sort", "argsort", "cumsum", "cumprod") for a in ("x", "k")],
    "torch.sort(x, descending=True)",
    "torch.sort(k, dim=0, descending=True, stable=True)",
    "torch.argsort(k, dim=1, stable=True, descending=True)",
    "torch.topk(x, 2)",
    "torch.topk(k.flatten()[:5] * 10 + torch.arange(5), 2, largest=False)",
    "torch.median(k), torch.median(x)",
    *[f"torch.count_nonzero({a})" for a in ("k", "b", "x", "k, 1", "b, (0, 1)")],
    *[f"torch.nonzero({a})" for a in ("k", "b", "s", "k - k")],
    "torch.nonzero(b, as_tuple=True)",
    "torch.where(b)",
    *[f"torch.{n}({a})" for n in ("sum", "prod") for a in ("k", "b", "k, 1", "b, 0", "x, dtype=torch.float32")],
    "torch.mean(k, dtype=torch.float32)",
    *[f"torch.{n}({a})" for n in ("tril", "triu") for a in ("k", "b", "x, 1")],
    *[f"torch.{n}(k, l)" for n in ("maximum", "minimum")],
    "torch.where(b, k, l), torch.where(b, 1, 2), torch.where(b, k, 0.5)",
    "F.one_hot(i), F.one_hot(i, 5), F.one_hot(i.reshape(3, 1), 4)",
    # creation
    *[f"torch.{n}({a})" for n in ("zeros", "ones") for a in ("2, 3", "(2, 3)", "2", "()", "2, dtype=torch.int32", "(2,), dtype=torch.bool", "[3, 1]")],
    *[f"torch.{n}_like({a})" for n in ("zeros", "ones") for a in ("x", "k", "b", "x, dtype=torch.int64")],
    *[f"torch.full({a})" for a in ("(2,), 3", "(2,), 3.5", "(2,), True", "(2,), 1j", "(), 2", "(2, 2), 1, dtype=torch.float64")],
    *[f"torch.full_like({a})" for a in ("x, 3", "k, 3", "k, 2.5, dtype=torch.float32")],
    *[f"torch.arange({a})" for a in ("5", "1, 5", "0, 1, 0.3", "5, 0, -2", "5.0", "3, dtype=torch.float32", "2, 9, 3")],
    *[f"torch.linspace({a})" for a in ("0, 1, 5", "3, -1, 4, dtype=torch.float64", "0, 1, 1", "1, 10, 4")],
    *[f"torch.eye({a})" for a in ("3", "2, 3", "2, dtype=torch.int64")],
    *[f"kind(torch.{a})" for a in ("empty(2, 3)", "empty((2,), dtype=torch.int16)", "empty_like(k)", "rand(2, 3)", "rand_like(x)", "randn(2)", "randn_like(x)", "randint(5, (2, 3))", "randint(1, 5, (2,), dtype=torch.int32)", "randperm(4)", "normal(0.0, 1.0, (2, 3))", "normal(x, 1.0)", "normal(x, x * x)", "normal(0.0, x * x)", "multinomial(x * x, 2)", "multinomial(x[0] * x[0], 3, replacement=True)", "bernoulli(x * 0 + 0.5)")],
    *[f"torch.tensor({a})" for a in ("3", "2.5", "True", "1j", "[1, 2]", "[[1.0, 2], [3, 4]]", "[]", "[True, False]", "[1, 2.5]", "[1], dtype=torch.float64", "np.float64(2)", "np.arange(3)", "[s, s]", "x")],
    *[f"torch.as_tensor({a})" for a in ("[1, 2]", "x", "x, dtype=torch.float32", "np.ones(2)", "3.5")],
    "torch.from_numpy(np.arange(3.0))",
    "torch.fft.fftfreq(5), torch.fft.rfftfreq(5), torch.fft.fftfreq(4, d=0.5)",
    "torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')",
    *[f"{a}.new_{n}" for a in "xk" for n in ("zeros(2, 3)", "ones((2,))", "full((2,), 3)", "tensor([1, 2])", "zeros(2, dtype=torch.bool)")],
    "kind(x.new_empty(2, 3))",
    # Python and other libraries
    "x.tolist(), k.tolist(), b.tolist(), s.tolist(), s.item(), k[0, 0].item(), b[0, 0].item(), c[0].item()",
    "len(x), bool(s > 0), float(s), int(s), complex(s), [1, 2, 3][k[0, 0] * 0 + 1], hash(x) == hash(x)",
    "2.5 in s + 0 * x, 17 in k",
    "f'{s:.3f}', f'{k[0, 0]}'",
    "np.asarray(x), x.numpy(), np.asarray(k), k.__array__()",
    "pickle.loads(pickle.dumps(x)), copy.deepcopy(k), copy.copy(x)",
    "repr(torch.tensor([1.0, 2.0])), repr(torch.tensor([[1, 2], [3, 4]])), repr(torch.tensor(True))",
    "[t for t in k]",
    # what a tensor is
    "x.numel(), x.nelement(), x.dim(), x.ndimension(), x.ndim, x.stride(), x.T.stride(), x.T.is_contiguous(), x.is_contiguous()",
    "tuple(x.shape), x.shape.numel(), x.size(0), x.size(-1), tuple(x.size())",
    "x.element_size(), x.itemsize, x.nbytes, k.get_device(), x.is_cuda, x.is_sparse, x.is_pinned(), x.is_inference()",
    "str(x.device.type), repr(x.device), str(x.device), x.device.index, str(x.layout), x.requires_grad, x.is_leaf, x.grad, x.grad_fn, x.output_nr, x.retains_grad",
    "str(x.dtype).removeprefix('torch.'), x.data_ptr() == x.view(-1).data_ptr(), x.data_ptr() == x.clone().data_ptr()",
    "x.data, x.detach(), torch.detach(x), torch.detach_copy(x), inplace(x * 1, torch.detach_)",
    "x.requires_grad_().requires_grad",
    "x.float(), x.double(), x.half(), k.long(), k.int(), k.bool(), k.byte(), x.long(), x.bool()",
    "k.type_as(x), x.to(torch.float16), x.to(k), x.to('cpu'), x.to('cpu', torch.float32), k.to(dtype=torch.int8)",
    "x.to(x.dtype) is x, x.contiguous() is x, x.cpu() is x, x.detach() is x, x.share_memory_() is x",
    "x.mT, x.T, x.H, c.real, c.imag, x.real, c.conj(), torch.real(c), torch.imag(c), torch.conj(c), torch.resolve_conj(c)",
    # lists of tensors
    *[f"torch._foreach_{n}([x, y]{', ' if a else ''}{a})" for names, every in FOREACH.items() for n in names.split() for a in every if (n, a) != ("pow", "[y * y, x * x]")],
    *[f"inplace([x * 1, y * 1], lambda t: torch._foreach_{n}_(t{', ' if a else ''}{a}))" for names, every in FOREACH.items() for n in names.split() for a in every if (n, a) != ("pow", "[y * y, x * x]")],
    "torch._foreach_norm([x, y]), torch._foreach_norm([x, y], 1)",
    "inplace([x * 1, y * 1], torch._foreach_zero_)",
    "inplace([x * 1, y * 1], lambda t: torch._foreach_copy_(t, [y, x]))",
    # in place, on numbers
    *[f"inplace(k, lambda t: t.{a})" for a in ("add_(2)", "mul_(l)", "sub_(1)", "neg_()", "abs_()", "sign_()", "sgn_()", "square_()", "pow_(2)", "zero_()", "fill_(7)", "clamp_(0, 2)", "remainder_(3)", "fmod_(3)", "floor_divide_(2)", "relu_()", "tril_()", "triu_()", "masked_fill_(b, 9)", "index_fill_(0, i, 5)", "index_add_(0, i, l)", "copy_(x)", "fill_(2.7)", "copy_(b)", "__setitem__(0, 1.5)", "__setitem__(b, 2.5)")],
    *[f"inplace(x, lambda t: t.{a})" for a in ("__setitem__(0, 0.1)", "__setitem__(b, 0.1)", "copy_(k)", "fill_(0.1)", "copy_(x.half())", "masked_fill_(b, 0.1)", "index_fill_(0, i, 0.1)", "clamp_(0.1, 0.3)", "scatter_(1, k.abs() % 4, 0.1)")],
    *[f"0.1 {o} {a}" for o in ("+", "-", "*", "/", "**", "//", "%") for a in ("x", "k", "x.half()", "s")],
    "torch.where(b, 0.1, x), torch.where(b, 0.1, 0.2), torch.lerp(x, y, 0.1), torch.addcmul(x, x, y, value=0.1), torch.clamp(x, 0.1)",
]  # fmt: skip
assert len(set(PLAIN)) == len(PLAIN)


def inplace(value, change):
    change(value)
    return value


def names(torch, dtype="float64"):
    """What the samples may use, made anew with `torch` as given; `x` and `y` of a dtype."""
    stream = np.random.default_rng(5)
    x, y = stream.uniform(-2, 2, (2, 3, 4))
    k, l = stream.integers(-4, 5, (2, 3, 4))  # noqa: E741
    b, d = stream.integers(0, 2, (2, 3, 4)).astype(bool)
    w = np.array([1.5, -np.inf, np.nan, np.inf, 0.0, -0.0, -2.5, 2.5, 25.0], np.float32)
    c = np.array([1 + 2j, -1j, -3 + 0j])
    arrays = {"x": x, "y": y, "k": k, "l": l, "b": b, "d": d, "w": w, "c": c}
    found = {name: torch.tensor(a) for name, a in arrays.items()}
    found |= {name: found[name].to(getattr(torch, dtype)) for name in "xy"}
    found |= {"i": torch.tensor([2, 0, 2]), "s": torch.tensor(2.5, dtype=torch.float64)}
    modules = (np, copy, io, math, operator, pickle)
    found |= {m.__name__.replace("numpy", "np"): m for m in modules}
    return found | {"torch": torch, "F": torch.nn.functional, "inplace": inplace, "kind": kind}


def kind(tensor):
    """All of a random tensor that does not depend on chance."""
    return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)


def seen(value):
    """A value as lists, words, numbers and arrays, to compare."""
    if isinstance(value, (list, tuple)):
        return [seen(v) for v in value]
    if hasattr(value, "numpy"):
        return value.numpy(force=True)
    return value
