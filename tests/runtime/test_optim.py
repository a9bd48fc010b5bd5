"""Optimizers, their fused forms, autocast and scalers beside what test_golden.py compares."""

import warnings

import pytest

import tidy.runtime as rt
from tidy.runtime import optim
from tidy.runtime.observe import autocast as amp
from tidy.runtime.observe.arrangement import active
from tidy.runtime.observe.callbacks import add_callback

from .answers import close, identical
from .observed import names_in
from .questions_optim import CASES, FUSED, numbers


def leaf(*values):
    return rt.tensor(list(values), requires_grad=True)


def test_foreach_nesterov_does_not_touch_the_gradients():
    x = leaf(1.0)
    x.grad = rt.ones(1)
    optimizer = optim.SGD([x], lr=0.1, momentum=0.9, nesterov=True, foreach=True)
    optimizer.step()
    optimizer.step()
    assert x.grad.item() == 1.0


def test_autocast_lowers_products_inside_and_nowhere_else():
    x = rt.ones(2, 2)
    assert not active
    with amp.autocast("cpu", dtype=rt.float16):
        assert active  # operators ask then
        assert amp.get_autocast_dtype() == x.mm(x).dtype == rt.float16
        assert amp.cast("aten::mm", (x.double(),))[0].dtype == rt.float64
        assert amp.cast("aten::linear", ([x, 1], None))[0][0].dtype == rt.float16
        with amp.autocast("cpu", enabled=False):
            assert not amp.is_autocast_enabled()
            assert x.mm(x).dtype == rt.float32
        assert amp.is_autocast_enabled()
    assert not active
    assert not amp.is_autocast_enabled()


@pytest.mark.parametrize("double", [False, True])
def test_autocast_keeps_the_cells_of_a_projected_lstm_in_32_bits(double):
    layer = rt.nn.LSTM(3, 4, 2, proj_size=2, bidirectional=double)
    with amp.autocast("cpu", dtype=rt.float16):
        out, (hidden, cell) = layer(rt.ones(5, 1, 3))
    assert (out.dtype, hidden.dtype, cell.dtype) == (rt.float16, rt.float16, rt.float32)


def test_autocast_decorates_and_casts_are_recorded():
    x = leaf(1.0, 2.0).reshape(1, 2)

    @amp.autocast("cpu", dtype=rt.float16)
    def f(a):
        return a.mm(a.t())

    assert (f(x).dtype, names_in(lambda: f(x)).count("aten::to")) == (rt.float16, 2)
    f(x).sum().backward()


def test_autocast_without_its_device_is_off():
    with pytest.warns(UserWarning, match="Disabling"), amp.autocast("cuda"):
        assert not amp.is_autocast_enabled()


def test_a_scaler_without_a_device_is_off() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = rt.cuda.amp.GradScaler()
    loss = rt.ones((), requires_grad=True)
    assert scaler.scale(loss) is loss
    assert (scaler.is_enabled(), scaler.get_scale(), scaler.state_dict()) == (False, 1.0, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rt.amp.GradScaler("cuda", enabled=False)


def test_a_scaler_on_a_device() -> None:
    rt.cuda.configure("a100")
    try:
        weight = rt.ones(3, device="cuda", requires_grad=True)
        optimizer, scaler = rt.optim.SGD([weight], lr=0.5), rt.cuda.amp.GradScaler()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [0.5] * 3
        del weight, optimizer, scaler
    finally:
        rt.cuda.configure(None)


each_case = pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name in FUSED for options in CASES[name]], ids=str
)
_PARAMS = [(1, 32), (0, 32), (1, 64)]  # elements, bits
_OPERATOR = {
    "SGD": "aten::_fused_sgd_", "Adam": "aten::_fused_adam_", "AdamW": "aten::_fused_adamw_",
    "Adagrad": "aten::_fused_adagrad_",
}  # fmt: skip


@each_case
def test_numbers_of_the_single_tensor_form(name, options):
    fused, single = {**options, "fused": True}, {**options, "foreach": False}
    identical(numbers(rt, name, fused), wanted := numbers(rt, name, single))
    with add_callback(lambda _: None):  # under an observer operators run one by one
        identical(numbers(rt, name, fused), wanted)


@pytest.mark.oracle
@each_case
def test_16_bits_are_rounded_once_a_step_as_in_pytorch(name, options):
    torch = pytest.importorskip("torch")
    options = {**options, "fused": True}
    ours, theirs = (numbers(t, name, options, dtype="float16")[0] for t in (rt, torch))
    for p, q in zip(ours, theirs, strict=True):
        close(p.numpy(force=True), q.numpy(force=True), rtol=2**-9, atol=2**-11)


@pytest.mark.parametrize("name", FUSED)
def test_one_operator_for_each_dtype(name):
    params = [rt.ones(n, dtype=getattr(rt, f"float{bits}")) for n, bits in _PARAMS]
    optimizer = getattr(optim, name)([p.requires_grad_() for p in params], fused=True)
    for p in params:
        p.grad = rt.ones_like(p)
    assert names_in(optimizer.step).count(_OPERATOR[name]) == 2


def test_a_group_may_be_fused_alone_and_a_fused_step_counts_as_a_change():
    x, y = (rt.ones(1, requires_grad=True) for _ in range(2))
    optimizer = optim.Adam([{"params": [x], "fused": True}, {"params": [y]}])
    x.grad, y.grad = rt.ones(1), rt.ones(1)
    seen = names_in(optimizer.step)
    assert seen.count("aten::_fused_adam_") == 1
    assert "aten::addcdiv_" in seen
    assert x.item() == y.item()
    x = leaf(1.0)
    x.grad, version = rt.ones(1), x._version
    optim.SGD([x], lr=0.5, fused=True).step()
    assert (x.item(), x._version) == (0.5, version + 1)
    with pytest.raises(RuntimeError, match="differentiable"):
        optim.Adam([leaf(1.0)], differentiable=True)
