"""TDY603: additions to the zeros are part of what they cost, those to other gradients are not."""

from __future__ import annotations

import pytest

import tidy
from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

_ZERO = launch("torch/optim/optimizer.py(9): zero_grad > aten::_foreach_zero_", "fill 10us")
_BACKWARD = under(
    "torch/_tensor.py(9): backward",
    launch("torch::autograd::AccumulateGrad > aten::add_", "add 100us") * 2,
)


@pytest.mark.parametrize("backwards", [1, 3])
def test_the_first_backward_adds_to_zeros(backwards: int) -> None:
    """Two parameters are filled in one call, and added to in each backward: 5 and 3 us each."""
    step = steps(_ZERO, *[_BACKWARD] * backwards, count=3, lasts_us=2000)
    trace = parse_outline(on_gpu(step))
    (found,) = tidy.check(trace, select=["TDY603"], savings="off").findings
    assert found.cost_ns == 1000 * (5 + 2 * 3)
