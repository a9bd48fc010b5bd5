"""What is said of a run before its findings; times worked out from the outlines.

In an outline 1 us passes before each event, and it lasts 1 us, or 1 us more than its children.
"""

from __future__ import annotations

import pytest

from tidy import check
from tidy.account import make_accounts
from tidy.check.summary import RunSummary
from tidy.trace.outline import parse_outline

_LAUNCH = """
  cudaLaunchKernel
    => {} {}us"""


def _summary(outline: str) -> RunSummary:
    trace = parse_outline(outline)
    return RunSummary.of(trace, make_accounts(trace))


def _step(number: int, lasts_us: int, *kernels_us: int) -> str:
    kernels = "".join(_LAUNCH.format("kernel", us) for us in kernels_us)
    return f"ProfilerStep#{number} {lasts_us}us{kernels}\n"


def test_busy_time_is_counted_inside_steps_and_once() -> None:
    """The first kernel is before the steps; of the second step's two, 10 us and 6 us, the later
    starts 2 us after the other and ends before it.
    """
    before = "aten::add" + _LAUNCH.format("kernel", 5) + "\naten::mul 20us\n"
    run = _summary(before + _step(1, 30) + _step(2, 50, 10, 6))
    assert (run.step_count, run.step_ns, run.window_ns) == (2, 40_000, 80_000)
    assert run.busy_share == 10 / 80
    assert run.devices == (("GPU", 1),)


def test_without_steps_it_is_the_run_from_the_first_launch_to_the_last_work() -> None:
    """Kernels of 3 us start when their calls end, at 3 us and at 13 us: the first addition lasts
    from 1 to 4 us, the product from 5 to 10, the second addition begins at 11. The time in which
    the first kernel is launched counts, as in all other figures.
    """
    launch = "aten::add" + _LAUNCH.format("kernel", 3) + "\n"
    run = _summary(f"{launch}aten::mul 5us\n{launch}")
    assert (run.step_count, run.step_ns) == (0, None)
    assert run.busy_share == 6 / (16 - 1)


def test_graphs_may_hide_work() -> None:
    outline = "cudaGraphLaunch\n  => kernel 3us\n"
    assert _summary(outline).busy_is_lower_bound
    whole = ("cudaLaunchKernel\n  => kernel 3us\n", "cudaGraphLaunch\n  => a 3us\n  => b 3us\n")
    assert not any(_summary(each).busy_is_lower_bound for each in whole)


def test_a_run_on_the_cpu() -> None:
    run = _summary("aten::add 10us | float[2]\naten::mul")
    assert (run.devices, run.busy_share, run.is_cpu_run) == ((), None, True)
    assert (run.span_ns, run.event_count) == (12_000, 2)
    assert run.recorded == ("shapes",)
    assert (run.rank, run.world_size) == (None, None)


def test_a_gpu_that_did_nothing_is_named() -> None:
    run = _summary("# device 0 NVIDIA A100 8.0\naten::mkldnn_convolution 10us")
    assert (run.devices, run.is_cpu_run) == ((), True)
    assert any(each.startswith("NVIDIA A100 did nothing") for each in run.warnings)
    assert not _summary("aten::mkldnn_convolution 10us").warnings


_COPY = "cudaMemcpyAsync\n  => Memcpy HtoD (Pinned -> Device) 3us\n"


@pytest.mark.parametrize(
    ("outline", "is_too_little"),
    [
        (_COPY, True),
        (_COPY * 5, True),
        ("frame 9us", True),
        (_COPY * 15, False),
        (_COPY + "cudaMemcpyAsync\n  => Memcpy HtoD (Pinned -> Device) 3000us\n", False),
        ("aten::add" + _LAUNCH.format("kernel", 3), False),
        (_step(1, 30, 3), False),
    ],
)
def test_a_few_events_that_are_all_there_is(outline: str, is_too_little: bool) -> None:
    report = check(parse_outline(outline))
    assert (report.accounts == ()) == is_too_little
    said = [each for each in report.summary.warnings if each.startswith("next to nothing")]
    assert len(said) == is_too_little
    assert not (is_too_little and report.summary.busy_share)


def test_the_name_and_number_of_devices() -> None:
    """A device that the trace lists but that did nothing is no device of the run."""
    listed = "# device 0 NVIDIA A100 8.0\n# device 1 NVIDIA A100 8.0\n"
    run = _summary(listed + "aten::add" + _LAUNCH.format("kernel", 3))
    assert run.devices == (("NVIDIA A100", 1),)
