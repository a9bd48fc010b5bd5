"""Checkpointing beside its answers, which test_golden.py compares with PyTorch's."""

# ruff: noqa: ARG005  (lambdas have the arguments they have)

import gc
import weakref

import pytest

import tidy.runtime as rt
from tidy.runtime.derivatives import checkpoint as rt_checkpoint
from tidy.runtime.observe import autocast as amp

from .scripts import leaf
from .scripts_of_functions import function_of

BOTH = pytest.mark.parametrize("reentrant", [True, False])


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
    assert (len(masks), masks[0].tolist()) == (2, masks[1].tolist())
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


@pytest.mark.parametrize("early_stop", [True, False])
def test_early_stop(early_stop):
    ran, x = [], leaf(rt, 1.0)

    def forward(ctx, a):
        ran.append(1)
        return a * 2

    watch = function_of(rt, forward, lambda ctx, g: g * 2)
    out = rt_checkpoint.checkpoint(
        lambda a: watch.apply(a.sin()), x, use_reentrant=False, early_stop=early_stop
    )
    out.sum().backward()
    assert len(ran) == (1 if early_stop else 2)
    assert x.grad.item() == pytest.approx(2 * leaf(rt, 1.0).cos().item())


def test_nothing_is_kept_and_the_form_is_asked_for():
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
    with pytest.warns(UserWarning, match="use_reentrant"):
        rt_checkpoint.checkpoint(lambda a: a * 2, x)


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
    assert (seen, x.grad.dtype) == ([rt.float16, rt.float16], rt.float32)
