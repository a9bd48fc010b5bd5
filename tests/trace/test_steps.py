"""Training steps: the profiler's own, else those of the optimizer, else none."""

from __future__ import annotations

from tidy.trace import Capability, Trace
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from .kineto import mark, op, span


def _steps(trace: Trace) -> list[tuple[int, int, int]]:
    return [(step.number, step.start_ns, step.end_ns) for step in trace.steps]


def test_profiler_steps_keep_their_numbers(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            mark("ProfilerStep#12", 200, 90),
            mark("ProfilerStep#11", 100, 80),
            mark("Optimizer.step#SGD.step", 150, 10),
            op("aten::mm", 110, 5),
        ]
    )
    assert _steps(trace) == [(11, 100_000, 180_000), (12, 200_000, 290_000)]
    assert Capability.STEPS in trace.capabilities
    assert trace.step_time.total_ns == 170_000


def test_a_step_on_a_device_row_is_no_second_step(read_events: ReadEvents) -> None:
    shadow = span("gpu_user_annotation", "ProfilerStep#3", 120, 50, pid=0, tid=7)
    trace = read_events([mark("ProfilerStep#3", 100, 80), shadow])
    assert _steps(trace) == [(3, 100_000, 180_000)]


def test_a_step_without_duration_is_none(read_events: ReadEvents) -> None:
    trace = read_events([mark("ProfilerStep#3", 100, 0), op("aten::mm", 100, 10)])
    assert _steps(trace) == []


def test_a_step_of_a_process_that_does_nothing_is_none(read_events: ReadEvents) -> None:
    elsewhere = [span("user_annotation", "ProfilerStep#3", 0, 9000, pid=77, tid=77)]
    assert _steps(read_events(elsewhere)) == [(3, 0, 9_000_000)]
    assert _steps(read_events([*elsewhere, op("aten::mm", 5, 10)])) == []
    mine = mark("ProfilerStep#3", 0, 20)
    assert _steps(read_events([*elsewhere, mine, op("aten::mm", 5, 10)])) == [(3, 0, 20_000)]


def test_names_that_only_look_like_steps(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            mark("ProfilerStep#x", 0, 9),
            mark("my ProfilerStep#1", 10, 9),
            mark("ProfilerStep#1a", 20, 9),
        ]
    )
    assert _steps(trace) == []


def test_optimizer_steps_end_steps(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("aten::mm", 10, 5),
            mark("Optimizer.step#SGD.step", 30, 10),
            mark("Optimizer.step#SGD.step", 70, 10),
            op("aten::mm", 90, 5),
        ]
    )
    assert _steps(trace) == [(0, 10_000, 40_000), (1, 40_000, 80_000)]


def test_of_several_optimizers_the_busiest_counts(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            mark("Optimizer.step#Adam.step", 10, 10),
            mark("Optimizer.step#SGD.step", 30, 10),
            mark("Optimizer.step#SGD.step", 50, 10),
        ]
    )
    assert [end for _, _, end in _steps(trace)] == [40_000, 60_000]


def _turns(read_events: ReadEvents, *names_and_ops: tuple[str, int]) -> list[int]:
    """Where steps end, in us, if optimizers that run so many operators each take turns."""
    events = []
    for turn, (name, ops) in enumerate(names_and_ops):
        events.append(mark(f"Optimizer.step#{name}.step", 100 * turn, 90))
        events += [op("aten::add_", 100 * turn + 5 * number, 4) for number in range(ops)]
    return [end // 1000 for _, _, end in _steps(read_events(events))]


def test_optimizers_that_take_turns_share_a_step(read_events: ReadEvents) -> None:
    assert _turns(read_events, *[("Adam", 4), ("Adam", 9)] * 4) == [190, 390, 590, 790]
    assert _turns(read_events, *[("Adam", 4), ("SGD", 4)] * 3) == [190, 390, 590]
    critics = [("Adam", 4)] * 5
    assert _turns(read_events, *[*critics, ("Adam", 9)] * 3) == [590, 1190, 1790]
    # In its first step an optimizer makes its state.
    assert _turns(read_events, ("Adam", 9), *[("Adam", 4)] * 5) == [90, 190, 290, 390, 490, 590]
    # One that does not always do the same is one all the same.
    ops = 4, 9, 9, 4, 4, 4, 9
    assert len(_turns(read_events, *[("Adam", count) for count in ops])) == 7


def test_an_optimizer_that_wraps_another_steps_once(read_events: ReadEvents) -> None:
    outer = [mark("Optimizer.step#Sharded.step", at, 90) for at in range(0, 400, 100)]
    inner = [mark("Optimizer.step#Adam.step", at + 10, 50) for at in range(0, 400, 100)]
    ends = [end for _, _, end in _steps(read_events([*outer, *inner]))]
    assert ends == [90_000, 190_000, 290_000, 390_000]


def test_no_steps_at_all() -> None:
    trace = parse_outline("aten::mm\nOptimizer.zero_grad#SGD.zero_grad")
    assert trace.steps == ()
    assert Capability.STEPS not in trace.capabilities
