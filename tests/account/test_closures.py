"""What an optimizer's closure does is no work of the optimizer."""

from __future__ import annotations

import pytest

from tidy.account import make_accounts
from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

_NODE = "autograd::engine::evaluate_function: MmBackward0"
_ZEROES = under("Optimizer.zero_grad#SGD.zero_grad 40us", "aten::zero_ 30us")
_COMPUTES = ("aten::mm 300us", under(f"{_NODE} 310us", "aten::mm 300us"))


def _shares(outline: str) -> dict[str, float]:
    """Parts of the account in microseconds of a step, by the words of a report."""
    trace = parse_outline(outline)
    (account,) = make_accounts(trace)
    return {str(part.text): part.time_ns / 1e3 / len(trace.window.steps) for part in account.parts}


@pytest.mark.parametrize("stacks", [True, False])
def test_on_a_cpu(stacks: bool) -> None:
    closure = (
        under("train.py(6): closure", _ZEROES, *_COMPUTES)
        if stacks
        else "".join(each if each.endswith("\n") else f"{each}\n" for each in (_ZEROES, *_COMPUTES))
    )
    step = under("Optimizer.step#SGD.step", closure, "aten::add_ 50us", "aten::add_ 50us")
    shares = _shares("# deviceProperties []\n" + steps(step, lasts_us=1000))
    assert shares["matrix products"] == pytest.approx(600, abs=5)
    assert shares["optimizer"] == pytest.approx(130, abs=5)  # what it zeroes, and its updates
    assert shares["optimizer's host work"] < 30


def test_without_a_closure_all_of_it_is_the_optimizers() -> None:
    step = under("Optimizer.step#SGD.step", "aten::mm 300us", "aten::add_ 50us")
    shares = _shares("# deviceProperties []\n" + steps(_NODE, step, lasts_us=1000))
    assert shares["optimizer"] == pytest.approx(350, abs=5)


def test_kernels_of_a_closure_keep_their_kinds() -> None:
    product = launch("aten::mm 20us", "ampere_sgemm 10us")
    closure = under("train.py(6): closure", product, under(_NODE, product))
    update = launch("aten::add_", "elementwise_kernel 50us")
    step = under("Optimizer.step#SGD.step", closure, update)
    shares = _shares(on_gpu(steps(step, lasts_us=1000)))
    assert shares["matrix products on ordinary cores"] == pytest.approx(20, abs=1)
    assert shares["optimizer"] == pytest.approx(50, abs=1)
