"""`fused=True`: one operator for all parameters; its numbers are PyTorch's in test_golden.py."""

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import optim
from tidy.runtime.observe.callbacks import add_callback

from .observed import names_in
from .questions_optim import CASES, FUSED

each_case = pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name in FUSED for options in CASES[name]], ids=str
)
_SHAPES = [(3, 2), (4,), (), (0,)]
_OPERATOR = {
    "SGD": "aten::_fused_sgd_", "Adam": "aten::_fused_adam_", "AdamW": "aten::_fused_adamw_",
    "Adagrad": "aten::_fused_adagrad_",
}  # fmt: skip


def trained(name, options, dtype="float32", torch=rt, **how):
    """Parameters and optimizer after some steps along random gradients."""
    rng = np.random.default_rng(0)
    made = [torch.tensor(rng.standard_normal(s), dtype=getattr(torch, dtype)) for s in _SHAPES]
    params = [p.requires_grad_() for p in made]
    optimizer = getattr(torch.optim, name)(params, **options, **how)
    for _ in range(6):
        for p in params:
            p.grad = torch.tensor(rng.standard_normal(p.shape), dtype=p.dtype)
        optimizer.step()
    return params, optimizer


def assert_same(ours, theirs):
    (params, optimizer), (others, other) = ours, theirs
    for p, q in zip(params, others, strict=True):
        assert p.dtype == q.dtype
        np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
    a, b = optimizer.state_dict()["state"], other.state_dict()["state"]
    assert a.keys() == b.keys()
    for number, state in b.items():
        assert a[number].keys() == state.keys()
        for key, value in state.items():
            np.testing.assert_array_equal(a[number][key].numpy(), value.numpy())


@each_case
def test_numbers_of_the_single_tensor_form(name, options):
    fused = trained(name, options, fused=True)
    assert_same(fused, trained(name, options, foreach=False))
    with add_callback(lambda _: None):  # under an observer operators run one by one
        assert_same(trained(name, options, fused=True), fused)


@pytest.mark.oracle
@each_case
def test_16_bits_are_rounded_once_a_step_as_in_pytorch(name, options):
    torch = pytest.importorskip("torch")
    ours, _ = trained(name, options, "float16", fused=True)
    theirs, _ = trained(name, options, "float16", torch=torch, fused=True)
    for p, q in zip(ours, theirs, strict=True):
        assert p.dtype == rt.float16
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=2**-9, atol=2**-11)


@pytest.mark.parametrize("name", FUSED)
def test_one_operator_for_each_dtype(name):
    params = [rt.ones(1, dtype=dtype) for dtype in (rt.float32, rt.float32, rt.float64)]
    optimizer = getattr(optim, name)([p.requires_grad_() for p in params], fused=True)
    for p in params:
        p.grad = rt.ones_like(p)
    assert names_in(optimizer.step).count(_OPERATOR[name]) == 2


def test_a_group_may_be_fused_alone():
    x, y = (rt.ones(1, requires_grad=True) for _ in range(2))
    optimizer = optim.Adam([{"params": [x], "fused": True}, {"params": [y]}])
    x.grad, y.grad = rt.ones(1), rt.ones(1)
    seen = names_in(optimizer.step)
    assert seen.count("aten::_fused_adam_") == 1
    assert "aten::addcdiv_" in seen
    assert x.item() == y.item()
