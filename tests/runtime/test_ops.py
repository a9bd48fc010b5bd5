"""Operators: each has a sample, each public name is in one or in a test, and what is random."""

import re
from pathlib import Path

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.engine.tensor import Tensor
from tidy.runtime.ops.make.table import PUBLIC, TABLE

from . import samples
from .samples_exact import GROUPS
from .samples_in_place import IN_PLACE
from .samples_plain import PLAIN

SAMPLES = [*samples.SAMPLES, *IN_PLACE]
SEEN: set[str] = set()
ids = [f"{n}-{s.code[:40]}" for n, s in enumerate(SAMPLES)]


def test_every_operator_with_a_formula_has_a_sample():
    handle = rt.add_callback(lambda record: SEEN.add(record.name))
    try:
        for sample in SAMPLES:
            samples.run(rt, sample)
    finally:
        handle.remove()
    elsewhere = {"aten::copy", "aten::fill", "aten::zero", "aten::native_dropout"}
    elsewhere |= {"aten::normal", "aten::uniform", "aten::exponential"}
    elsewhere |= {"aten::_standard_gamma", "aten::bernoulli", "aten::poisson", "aten::random"}
    missing = {op.name for op in TABLE.values() if op.parse().formulas and not op.in_place}
    missing -= SEEN | elsewhere
    assert not missing


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.twice], ids=lambda s: s.code[:40])
def test_gradients_are_linear_in_the_gradient_of_the_result(sample):
    """Of a function of degree two in `weight`, as a length is, Euler's theorem holds."""
    tensors = [rt.tensor(a, requires_grad=True) for a in samples.arrays(sample)]
    out = samples.evaluate(rt, sample, tensors)
    numbers = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
    weight = rt.tensor(numbers, requires_grad=True)
    more = {"materialize_grads": True}
    grads = rt.autograd.grad((out * weight).sum(), tensors, create_graph=True, **more)
    length = sum((g * g).sum() for g in grads)
    if length.requires_grad:
        (grad,) = rt.autograd.grad(length, weight, **more)
        np.testing.assert_allclose((grad * weight).sum().item(), 2 * length.item(), 1e-8, 1e-9)


def test_dropout_keeps_the_mean_and_its_gradient_is_its_mask():
    rt.manual_seed(3)
    x = rt.ones(400, 500, dtype=rt.float64, requires_grad=True)
    out = rt.nn.functional.dropout(x, 0.2)
    out.sum().backward()
    kept = out.numpy(force=True)
    assert set(np.unique(kept)) == {0.0, 1.25}
    assert abs(kept.mean() - 1) < 0.02
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    assert rt.nn.functional.dropout(x, 0.2, training=False) is x
    with pytest.raises(ValueError, match="between 0 and 1"):
        rt.nn.functional.dropout(x, 1.2)


def test_gumbel_softmax_chooses_by_the_logits():
    rt.manual_seed(4)
    shares = rt.tensor([0.1, 0.6, 0.3], dtype=rt.float64)
    logits = shares.log().expand(20000, 3).clone().requires_grad_()
    soft = rt.nn.functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(-1).detach().numpy(), 1)
    hard = rt.nn.functional.gumbel_softmax(logits, hard=True)
    assert set(np.unique(hard.detach().numpy().round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), shares.numpy(), atol=0.02)
    for out in (soft, hard):  # both have the gradient of the soft one: it moves shares about
        (grad,) = rt.autograd.grad(out[:, 1].sum(), logits)
        np.testing.assert_allclose(grad.sum(-1).numpy(), 0, atol=1e-12)
        assert (grad[:, 1] > 0).all()


def test_slopes_of_rrelu_are_within_their_bounds():
    rt.manual_seed(4)
    x = -rt.ones(2000, requires_grad=True)
    out = rt.nn.RReLU(0.2, 0.5)(x)
    slopes = -out.detach().numpy()
    assert 0.2 <= slopes.min() < 0.21
    assert 0.49 < slopes.max() <= 0.5
    assert rt.nn.RReLU(0.2, 0.5)(rt.ones(3)).tolist() == [1, 1, 1]


def test_draws_in_place_have_no_gradient():
    x = rt.ones(3, requires_grad=True)
    (x * 2).normal_().sum().backward()
    assert not x.grad.numpy().any()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.uniform_()


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda t: t.normal_(2.0, 3.0), 2.0, 3.0),
        (lambda t: t.uniform_(-1, 3), 1.0, 4 / 12**0.5),
        (lambda t: t.exponential_(0.5), 2.0, 2.0),
        (lambda t: rt.randn(t.shape), 0.0, 1.0),
        (rt.rand_like, 0.5, 12**-0.5),
        (rt.randn_like, 0.0, 1.0),
        (lambda t: rt.rand(len(t)), 0.5, 12**-0.5),
        (lambda t: rt.normal(2.0, 3.0, t.shape), 2.0, 3.0),
        (lambda t: rt.normal(rt.full_like(t, 2.0), rt.full_like(t, 3.0)), 2.0, 3.0),
        (lambda t: rt.randint(7, t.shape).float(), 3.0, 2.0),
        (lambda t: rt.randint(3, 10, t.shape).float(), 6.0, 2.0),
        (lambda t: rt.randperm(len(t)) / len(t), 0.5, 12**-0.5),
        (lambda t: rt.multinomial(rt.tensor([1.0, 0, 3]), len(t), True).float(), 1.5, 0.75**0.5),
        (lambda t: rt.bernoulli(rt.full_like(t, 0.3)), 0.3, 0.21**0.5),
    ],
)
def test_draws_have_their_moments_and_come_again_from_their_seed(draw, mean, std):
    found = []
    for _ in range(2):
        rt.manual_seed(11)
        found.append(draw(rt.empty(100_000)).numpy())
    np.testing.assert_array_equal(*found)
    assert abs(found[0].mean() - mean) < 0.03 * (1 + std)
    assert abs(found[0].std() - std) < 0.03 * (1 + std)


HERE = Path(__file__).parent
ELSEWHERE = {
    "test_ops.py": "dropout gumbel_softmax manual_seed normal_ uniform_ exponential_",
    "scripts.py": "backward register_hook retain_grad register_post_accumulate_grad_hook",
    "test_data.py": "pin_memory is_pinned",
    "test_numbers_on_a_device.py": "is_cpu cuda",
    "test_allocator.py": "record_stream",
    "foreach.json": "_foreach_abs _foreach_abs_ _foreach_sign _foreach_sign_ "
    "_foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_",
    "test_optim.py": "_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_",
    "test_engine.py": "array",
    "test_reduced_precision.py": "bfloat16",
}
NAMES = "add sub mul truediv floordiv mod pow matmul xor and or lshift rshift eq ne lt le gt ge"
WRITTEN = "+ - * / // % ** @ ^ & | << >> == != < <= > >="
SIGNS = dict(zip(NAMES.split(), WRITTEN.split(), strict=True))
# What calls a method that is not called by its name.
CALLS = {f"__{name}__": rf" {re.escape(sign)} " for name, sign in SIGNS.items()}
CALLS |= {f"__r{name}__": rf"(^|\W)[\d.]+ {re.escape(sign)} " for name, sign in SIGNS.items()}
CALLS |= {
    "__getitem__": r"\w\[", "__index__": r"\]\[k\[", "__iter__": r"\[\*", "__format__": "f'{",
    "__neg__": r"(^|\W)-[a-z]", "__pos__": r"(^|\W)\+[a-z]", "__invert__": "~",
    "__contains__": " in ", "__reduce__": "dumps", "__deepcopy__": "deepcopy",
    "__array__": "asarray", "__array_wrap__": "sqrt",
}  # fmt: skip
PLACES = {"torch": "torch", "F": "nn", "torch.linalg": "linalg", "torch.fft": "fft"}
NOT_OPERATORS = set(
    "__annotations__ __array_priority__ __dict__ __doc__ __init__ __module__ "
    "__slots__ __weakref__ __firstlineno__ __static_attributes__".split()
)


def _used(code):
    """(place, name) of all that an expression uses."""
    for owner, name in re.findall(r"((?:torch\.)?\w*)\.(\w+)", code):
        yield PLACES.get(owner, "tensor"), f"__{name}__" if owner == "operator" else name
    for name, pattern in CALLS.items():
        if re.search(pattern, code):
            yield "tensor", name
    for name in re.findall(r"(?<![.\w])(\w+)\(", code):
        yield "tensor", f"__{name}__"


def _public():
    names = {(place, name) for place in PUBLIC if place != "tensor" for name in PUBLIC[place]}
    for name in vars(Tensor):
        if not name.startswith("_") or (name.startswith("__") and name not in NOT_OPERATORS):
            names.add(("tensor", name))
    return names


def _found(place, name):
    return vars(Tensor)[name] if place == "tensor" else PUBLIC[place][name]


def test_every_public_name_is_in_a_sample_or_a_test():
    codes = [s.code for s in SAMPLES] + PLAIN
    codes += [code for group in GROUPS.values() for code in group]
    public = _public()
    used = {each for code in codes for each in _used(code)} & public
    functions = {id(_found(*each)) for each in used}  # under any of its names
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    missing = {
        each
        for each in public - used
        if id(_found(*each)) not in functions and each[1] not in elsewhere
    }
    assert not missing


@pytest.mark.parametrize("file", ELSEWHERE)
def test_the_tests_named_are_there(file):
    text = "".join(p.read_text(encoding="utf-8") for p in HERE.parent.rglob(file))
    text = text.replace(f'"{ELSEWHERE[file]}"', "")  # it stands in this file
    assert [n for n in ELSEWHERE[file].split() if n not in text] == []


HERE_ALONE = {  # public here, and not in PyTorch at that place
    "torch": (
        "absolute_ adaptive_avg_pool2d adaptive_avg_pool3d addcdiv_ addcmul_ avg_pool2d avg_pool3d "
        "bitwise_and_ bitwise_not_ "
        "bitwise_or_ bitwise_xor_ digamma_ erfinv_ floor_divide_ fmod_ index_add_ index_copy_ "
        "index_fill_ lerp_ lgamma_ logical_not_ masked_fill_ mul_ multiply_ pow_ remainder_ "
        "scatter_add_ sgn_ sign_ sum_to_size tril_ triu_ unfold"
    ).split(),
    "nn": ["sigmoid_", "tanh_"],
    "tensor": "array detach_copy view_as_complex view_as_real".split(),
}


@pytest.mark.oracle
def test_public_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    homes = {"torch": torch, "nn": torch.nn.functional, "tensor": torch.Tensor}
    homes |= {"linalg": torch.linalg, "fft": torch.fft}
    alone = {(place, name) for place, name in _public() if not hasattr(homes[place], name)}
    assert alone == {(place, name) for place, names in HERE_ALONE.items() for name in names}


def test_a_complex_long_double_keeps_its_imaginary_part():
    """PyTorch drops it, and warns."""
    found = rt.tensor([2.0]) + np.clongdouble(1.5 + 2j)
    assert (found.dtype, found.tolist()) == (rt.complex64, [3.5 + 2j])
