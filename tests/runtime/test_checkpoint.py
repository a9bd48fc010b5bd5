"""Checkpointing: gradients, numbers of runs, random numbers and errors, as in PyTorch."""

# ruff: noqa: ARG004, ARG005  (lambdas and Functions have the arguments they have)

import warnings

import pytest

import tidy.runtime as rt
from tidy.runtime.derivatives import checkpoint as rt_checkpoint
from tidy.runtime.engine.function import Function
from tidy.runtime.observe import autocast as amp

from .raised import raised

BOTH = pytest.mark.parametrize("reentrant", [True, False])


def leaf(torch, *values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def gradients(torch, ck, reentrant):
    calls, x, y, w = [], leaf(torch, 1.0, 2.0), leaf(torch, 0.5, 0.3), leaf(torch, 2.0, -1.0)

    def f(a, b, scale):
        calls.append(torch.is_grad_enabled())
        return (a * b).sin() * scale * w, a.exp()

    p, q = ck.checkpoint(f, x, y, 3, use_reentrant=reentrant)
    before = len(calls)
    ((p * q).sum() + p.sum()).backward()
    return [x.grad.tolist(), y.grad.tolist(), w.grad.tolist()], before, calls


def several_backwards(torch, ck, reentrant):
    calls, x = [], leaf(torch, 1.0, 2.0)

    def f(a):
        calls.append(1)
        return a.sin().exp()

    out = ck.checkpoint(f, x, use_reentrant=reentrant).sum()
    counts = []
    for keep in (True, True, False):
        out.backward(retain_graph=keep)
        counts.append(len(calls))
    return x.grad.tolist(), counts, raised(out.backward)


def chain(torch, ck, reentrant):
    calls, x = [], leaf(torch, 1.0, 2.0)

    def layer(number):
        def f(a):
            calls.append(number)
            return (a * number).sin()

        return f

    layers = [layer(n) for n in (1, 2, 3, 4, 5)]
    out = ck.checkpoint_sequential(layers, 2, x, use_reentrant=reentrant)
    out.sum().backward()
    return x.grad.tolist(), calls


def nested(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)

    def inner(a):
        return a.sin().exp()

    def outer(a):
        return ck.checkpoint(inner, a * 2, use_reentrant=reentrant).cos() * a

    ck.checkpoint(outer, x, use_reentrant=reentrant).sum().backward()
    return x.grad.tolist()


def no_input_needs_grad(torch, ck, reentrant):
    w, x = leaf(torch, 2.0), torch.ones(1, dtype=torch.float64)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = ck.checkpoint(lambda a: a * w, x, use_reentrant=reentrant)
    return out.requires_grad, [str(w.message)[:40] for w in seen]


def other_things_saved(torch, ck, reentrant):
    found = []
    for first, second in (
        (lambda a: a.sin(), lambda a: a * 1.0),
        (lambda a: a.sin().exp(), lambda a: a.sin()),
        (lambda a: a.sin(), lambda a: a[:1].sin().sum() * a),
    ):
        for check in ("default", "none"):
            x, runs = leaf(torch, 1.0, 2.0), [first, second]
            out = ck.checkpoint(
                lambda a, runs=runs: runs.pop(0)(a),
                x,
                use_reentrant=False,
                determinism_check=check,
            )
            found.append(raised(out.sum().backward))
    return found


def modified_argument(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    out = ck.checkpoint(lambda a: a.sin(), h, use_reentrant=reentrant)
    with torch.no_grad():
        h.mul_(2)
    return raised(out.sum().backward)


def bad_calls(torch, ck, reentrant):
    x = leaf(torch, 1.0)
    return (
        raised(lambda: ck.checkpoint(lambda a, b: a, x, b=1, use_reentrant=True)),
        raised(lambda: ck.checkpoint(lambda a: a, x, use_reentrant=False, determinism_check="x")),
        raised(lambda: ck.checkpoint(lambda a: a / [], x, use_reentrant=reentrant)),
        raised(ck.checkpoint(lambda a: a.detach() * 1, x, use_reentrant=True).sum().backward),
    )


def keywords(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    out = ck.checkpoint(lambda a, power: a**power, x, use_reentrant=False, power=3)
    out.sum().backward()
    with torch.no_grad():
        plain = ck.checkpoint(lambda a: a * 2, x, use_reentrant=False)
    return x.grad.tolist(), plain.requires_grad


def double_backward(torch, ck, reentrant):
    x = leaf(torch, 1.0, 2.0)
    out = ck.checkpoint(lambda a: (a.sin() * a).sum(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    return g.tolist(), gg.tolist()


def grad_call(torch, ck, reentrant):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = ck.checkpoint(lambda a, b: (a * b).sin(), x, y, use_reentrant=reentrant).sum()
    return raised(lambda: torch.autograd.grad(out, x))


SCRIPTS = (
    gradients,
    several_backwards,
    chain,
    nested,
    no_input_needs_grad,
    other_things_saved,
    modified_argument,
    bad_calls,
    keywords,
    double_backward,
    grad_call,
)


def rounded(x):
    if isinstance(x, float):
        return float(f"{x:.12g}")
    return [rounded(i) for i in x] if isinstance(x, (list, tuple)) else x


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@BOTH
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.__name__)
def test_as_pytorch(script, reentrant):
    torch = pytest.importorskip("torch")
    from torch.utils import checkpoint

    theirs = rounded(script(torch, checkpoint, reentrant))
    assert rounded(script(rt, rt_checkpoint, reentrant)) == theirs


@BOTH
@pytest.mark.parametrize("drawn_before", [0, 5])
def test_same_random_numbers_again(reentrant, drawn_before):
    rt.manual_seed(3)
    if drawn_before:
        rt.rand(drawn_before)
    x, masks = leaf(rt, *range(1, 9)), []

    def dropout(a):
        masks.append((rt.rand(8) < 0.5).double())
        return (a * masks[-1]).exp()

    out = rt_checkpoint.checkpoint(dropout, x, use_reentrant=reentrant)
    rt.manual_seed(5)
    expected = rt.rand(3).tolist()
    rt.manual_seed(5)
    out.sum().backward()
    assert len(masks) == 2
    assert masks[0].tolist() == masks[1].tolist()
    assert rt.rand(3).tolist() == expected  # the recomputation drew none of these


@BOTH
def test_random_numbers_differ_if_not_preserved(reentrant):
    masks, x = [], leaf(rt, 1.0, 2.0, 3.0, 4.0)

    def noisy(a):
        masks.append(rt.rand(4))
        return a * masks[-1]

    out = rt_checkpoint.checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=False)
    out.sum().backward()
    assert masks[0].tolist() != masks[1].tolist()


def test_warns_when_the_form_is_not_given():
    x = leaf(rt, 1.0)
    with pytest.warns(UserWarning, match="use_reentrant"):
        rt_checkpoint.checkpoint(lambda a: a * 2, x)
    with pytest.warns(UserWarning, match="use_reentrant"):
        rt_checkpoint.checkpoint_sequential([lambda a: a * 2] * 3, 3, x)


@pytest.mark.parametrize("early_stop", [True, False])
def test_early_stop(early_stop):
    ran, x = [], leaf(rt, 1.0)

    class Watch(Function):
        @staticmethod
        def forward(ctx, a):
            ran.append(1)
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    out = rt_checkpoint.checkpoint(
        lambda a: Watch.apply(a.sin()), x, use_reentrant=False, early_stop=early_stop
    )
    out.sum().backward()
    assert len(ran) == (1 if early_stop else 2)
    assert x.grad.item() == pytest.approx(2 * leaf(rt, 1.0).cos().item())


def test_nothing_is_kept():
    import gc
    import weakref

    made = []

    def f(a):
        middle = a.sin()
        made.append(weakref.ref(middle))
        return middle.exp() * middle

    x = leaf(rt, 1.0)
    out = rt_checkpoint.checkpoint(f, x, use_reentrant=False)
    gc.collect()
    assert made[0]() is None
    out.sum().backward()
    gc.collect()
    assert made[1]() is None


@BOTH
def test_recomputes_under_the_same_autocast(reentrant):
    seen = []

    def f(a):
        (low,) = amp.cast("aten::mm", (a,))
        seen.append(low.dtype)
        return low.mm(low)

    x = rt.ones(2, 2, requires_grad=True)
    with amp.autocast("cpu", dtype=rt.float16):
        out = rt_checkpoint.checkpoint(f, x, use_reentrant=reentrant)
    out.sum().backward()
    assert seen == [rt.float16, rt.float16]
    assert x.grad.dtype == rt.float32
