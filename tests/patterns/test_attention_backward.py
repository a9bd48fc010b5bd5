"""TDY504 with a backward, and of a host that launches fewer operators once attention is fused."""

from __future__ import annotations

import pytest

import tidy
from tidy.finding import Judged
from tidy.patterns.examples import GPU, joined, launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

_QUERIES, _KEYS = "c10::Half[8, 512, 64]", "c10::Half[8, 64, 512]"
_SCORES = "c10::Half[8, 512, 512]"
_STEPS, _STEP_US = 3, 2000
_KERNEL = "kernel 5us"  # next to no time, beside the 60 us of its operator


def _op(name: str, *inputs: str, number: int | None = None) -> str:
    node = "" if number is None else f" seq={number}"
    return launch(f"aten::{name} 60us{node} | {', '.join(inputs)}", _KERNEL)


def _forward(step: int, casts: int) -> str:
    """Return two products, what scales, casts and a softmax; three of them make nodes."""
    return joined(
        _op("bmm", _QUERIES, _KEYS, number=10 * step),
        _op("div", _SCORES),
        *[_op("copy_", _SCORES)] * casts,
        _op("_softmax", _SCORES, "=-1", "=False", number=10 * step + 1),
        _op("bmm", _SCORES, _QUERIES, number=10 * step + 2),
    )


def _backward(step: int, thread: int) -> str:
    """Return five operators in three nodes."""
    product, softmax = _op("bmm", _SCORES, _QUERIES), _op("_softmax_backward_data", _SCORES)
    nodes = ("Bmm", product * 2), ("Softmax", softmax), ("Bmm", product * 2)
    engine = "autograd::engine::evaluate_function: "
    return joined(
        *(
            under(f"{engine}{name}Backward0 seq={10 * step + 2 - at}/{thread}", ops)
            for at, (name, ops) in enumerate(nodes)
        )
    )


def _found(outline: str) -> Judged:
    (finding,) = tidy.check(parse_outline(outline), select=["TDY504"]).findings
    assert isinstance(finding, Judged)
    assert finding.edit is not None
    return finding


@pytest.mark.parametrize("engine", [1, 2])
def test_a_backward_is_one_whichever_thread_comes_first(engine: int) -> None:
    """Of 13 operators of 60 us in each step 6 to 12 are left."""
    script = 3 - engine
    numbers = range(1, _STEPS + 1)
    of_thread = {
        script: joined(
            *(under(f"ProfilerStep#{each} {_STEP_US}us", _forward(each, 4)) for each in numbers)
        ),
        engine: joined(
            *(
                under(f"engine {_STEP_US}us", f"wait {_STEP_US // 2}us", _backward(each, script))
                for each in numbers
            )
        ),
    }
    finding = _found(GPU + "".join(f"thread {each}\n{of_thread[each]}" for each in (1, 2)))
    assert "several operators, and its backward" in finding.message
    assert finding.edit is not None
    assert len(finding.edit.work) == 13 * _STEPS
    assert sum(each.total_ns for each in finding.edit.host.values()) == 13 * 60_000 * _STEPS
    assert finding.edit.left == pytest.approx((6 / 13, 12 / 13))


@pytest.mark.parametrize(("casts", "least_us", "most_us"), [(0, 0, 60), (5, 180, 360)])
def test_one_operator_saves_the_host_the_others(casts: int, least_us: int, most_us: int) -> None:
    """Of four or nine operators of 60 us three to six are left."""
    outline = steps(_forward(0, casts), count=_STEPS, lasts_us=None)
    finding = _found(on_gpu(outline))
    assert finding.saving is not None
    assert finding.saving.low_ns == pytest.approx(least_us * 1000, rel=0.1, abs=5000)
    assert finding.saving.high_ns == pytest.approx(most_us * 1000, rel=0.1)


def test_of_three_operators_the_host_is_saved_nothing() -> None:
    """What fused attention takes the host is as long, and the host still sets the pace."""
    scores = _op("bmm", _QUERIES, _KEYS)
    softmax, mixed = _op("_softmax", _SCORES, "=-1", "=False"), _op("bmm", _SCORES, _QUERIES)
    finding = _found(on_gpu(steps(scores, softmax, mixed, count=_STEPS, lasts_us=None)))
    assert finding.saving is not None
    assert finding.saving.why.startswith("the host sets the pace")
    assert finding.edit is not None
    assert not finding.edit.host
