"""Expressions of operands that broadcast, and of tensors without elements: see questions.py."""

import numpy as np

from .tables import calls

PAIRS = [
    ((3, 1), (4,)), ((0,), (1,)), ((1,), (0,)), ((), (3,)), ((2, 3), ()), ((), ()),
    ((2, 0, 3), (1, 3)), ((0, 3), (3,)), ((2, 1, 3), (4, 1)), ((0,), ()), ((3,), (4,)),
    ((0,), (2,)), ((2, 3), (3, 2)),
]  # fmt: skip
BINARY = (
    "add sub mul div pow remainder fmod floor_divide atan2 logaddexp hypot maximum minimum eq ne "
    "lt le gt ge logical_and logical_or logical_xor"
).split()
# (x and y as above)
MORE = calls("""
torch.where(x > 0, x, y); torch.lerp(x, y, 0.5); torch.lerp(x, x, y); torch.addcmul(x, x, y)
torch.addcdiv(x, y, x); torch.clamp(x, y); x.masked_fill(y > 0, 1.0); torch.masked_select(x, y > 0)
x.expand_as(y); x.add_(y); x.mul_(y); x.div_(y); x.copy_(y); x.masked_fill_(y > 0, 2.0)
F.mse_loss(x, y); F.mse_loss(x, y, reduction='none'); F.l1_loss(x, y); F.smooth_l1_loss(x, y)
F.huber_loss(x, y); x.__setitem__(..., y)
""")
EMPTY = [(0,), (0, 3), (3, 0), (2, 0, 3), ()]
REDUCTIONS = "sum prod mean var std amax amin max min all any argmax argmin median".split()
ON_EMPTY = [
    *[f"x.{n}()" for n in REDUCTIONS],
    *[f"x.{n}({d})" for n in REDUCTIONS if n != "median" for d in ("0", "-1")],
    *[f"x.{n}(-1, keepdim=True)" for n in REDUCTIONS if n != "median"],
    *[f"x.{n}((0, -1))" for n in ("sum", "mean", "var", "std")],
    *[f"x.{n}((0,))" for n in ("sum", "mean", "amax", "amin", "var", "std")],
    *[f"x.{n}({d})" for n in ("cumsum", "cumprod", "logsumexp", "softmax") for d in ("0", "-1")],
    *[f"x.{n}()" for n in ("sort", "argsort", "t", "flatten", "squeeze", "nonzero", "norm", "T")],
    *[f"x.{n}" for n in ("count_nonzero()", "norm(1)", "norm(dim=0)", "topk(0)", "tolist()")],
    *[f"x.{n}" for n in ("reshape(-1)", "view(-1)", "reshape(0)", "view(0, 5)", "view(-1, 0)")],
    *[f"x.{n}" for n in ("unsqueeze(0)", "unbind()", "split(1)", "chunk(2)", "repeat(2, 2, 2)")],
    *[f"x.{n}" for n in ("flip(0)", "roll(1)", "roll(1, 0)", "tril()", "repeat_interleave(2)")],
    *[f"x.{n}" for n in ("numpy()", "item()", "clone()", "relu()", "isnan()", "abs()", "sign()")],
    *[f"x[{i}]" for i in ("...", "None", "0", ":0", "[]", "x > 0", "x.new_zeros(0).long()")],
    *[f"torch.{n}([x, x])" for n in ("cat", "stack")],
    *[f"torch.{n}(x)" for n in ("zeros_like", "ones_like", "where", "nan_to_num", "round")],
    *calls("""
    torch.cat([x, torch.zeros(0)]); torch.cat([x, torch.zeros(0), x], -1); x @ x.T; x.T @ x
    F.softmax(x, 0); F.log_softmax(x, -1); F.relu(x); F.gelu(x); F.linear(x, torch.ones(2, 3))
    F.pad(x, (1, 1)); F.mse_loss(x, x); F.l1_loss(x, x); F.layer_norm(x, (3,))
    F.one_hot(x.long(), 3); F.embedding(x.long(), torch.ones(3, 2))
    F.cross_entropy(x, torch.zeros(0).long()); torch.linalg.norm(x); torch.linalg.det(x[..., :0])
    torch.einsum('i...->...', x); bool(x); len(x); list(x); float(x)
    """),
]


EVERY = [
    *((code, pair) for code in (*(f"torch.{n}(x, y)" for n in BINARY), *MORE) for pair in PAIRS),
    *((code, (shape,)) for code in ON_EMPTY for shape in EMPTY),
]


def outcome(lib, code, shapes):
    """The value, or the class of the error, for `x` and `y` of these shapes."""
    stream = np.random.default_rng(3)
    arrays = [stream.uniform(0.5, 2, s) for s in shapes]
    given = dict(zip("xy", [lib.tensor(a, dtype=lib.float32) for a in arrays], strict=False))
    try:
        return eval(code, given | {"torch": lib, "F": lib.nn.functional})  # noqa: S307
    except Exception as error:
        kinds = (IndexError, RuntimeError, Exception)
        return next(k.__name__ for k in kinds if isinstance(error, k))
