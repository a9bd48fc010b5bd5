"""Samples of operators that write to their first operand, here a copy: see samples.py."""

from .samples import TWO, S
from .tables import calls

UNIT = "acos asin tan expm1 exp2 erf frac sgn sign trunc square sinh cosh atan tril triu"
PLAIN = calls("""
add_(2); mul_(x); sub_(x * x); exp_(); tanh_(); zero_(); fill_(3); clamp_(0, 1); sigmoid_(); neg_()
masked_fill_(m, 2.0); relu_(); index_fill_(1, i, 2.0); __setitem__(m, 0.5); view(-1)[2:].mul_(3)
""")
POSITIVE = calls("""
div_(x); pow_(3); abs_(); log_(); sqrt_(); rsqrt_(); reciprocal_(); sin_(); cos_(); floor_()
ceil_(); round_(); scatter_(1, i.reshape(3, 1), 2.0); scatter_add_(1, i.reshape(3, 1), x[:, :1])
""")
PAIRS = calls("""
add_(y, alpha=2); sub_(y, alpha=2); index_add_(0, i, y); copy_(y); index_put_((i,), y)
__setitem__((slice(None), 1), y[:, 0])
""")
IN_PLACE = [
    *[S(f"inplace(x * 1, lambda t: t.{c})") for c in PLAIN],
    *[S(f"inplace(x * 1, lambda t: t.{c})", lo=0.3) for c in POSITIVE],
    *[S(f"inplace(x * 1, lambda t: t.{c})", TWO) for c in PAIRS],
    *[
        S(f"inplace(x * 1, lambda t: t.{c}(y, z))", ((3, 4), (3, 4), (3, 4)), lo=0.3)
        for c in ("lerp_", "addcmul_", "addcdiv_")
    ],
    S("inplace(x * 1, lambda t: t[1].mul_(x[0]))"),
    S("inplace(x * 1, lambda t: t.t()[1:].copy_(y))", ((3, 4), (3, 3))),
    *[S(f"inplace(x * 1, lambda t: t.{n}_())", lo=-0.8, hi=0.8) for n in UNIT.split()],
    *[S(f"inplace(x * 1, lambda t: t.{n}_())", lo=1.2, hi=3.0) for n in ("log2", "log10", "log1p")],
    *[S(f"inplace(x * 1, lambda t: t.{n}_(y))", TWO, lo=0.3) for n in ("remainder", "fmod")],
    *[S(f"inplace(x * 1, F.{n}_)") for n in ("celu", "elu", "hardtanh", "leaky_relu", "relu")],
    S("inplace(x * 1, lambda t: F.threshold_(t, 0.1, 7.0))"),
    *[
        S(f"inplace(x * 1, torch.{n}_)", lo=0.2, hi=0.8)
        for n in "abs neg exp sqrt sigmoid tanh".split()
    ],
    S("inplace(x * 1, lambda t: t.div_(y, rounding_mode='floor'))", TWO, lo=0.3),
    S("inplace(x * 1, lambda t: t.index_copy_(0, torch.tensor([2, 0]), y))", ((3, 4), (2, 4))),
    *[S(f"operator.{n}(x * 1, y)", TWO, lo=0.3) for n in ("iadd", "isub", "imul", "itruediv")],
    S("operator.ipow(x * 1, 3)"),
]
assert len({s[:2] for s in IN_PLACE}) == len(IN_PLACE)
