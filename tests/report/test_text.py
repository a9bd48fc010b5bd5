"""The text report, of outcomes written by hand."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from tidy import Finding, Report, Severity
from tidy.check.weigh import Weighed
from tidy.finding import Crashed, NotApplicable, NotChecked, Saving
from tidy.report.console import make_console
from tidy.report.text import print_report, render
from tidy.report.wording import replay_is_off_text
from tidy.savings import Fidelity

from ..account_lines import without_account
from .making import finding, report, trace

_SHAPES = NotChecked("no input shapes recorded", "record with record_shapes=True")
_DEVICE = NotChecked("no device activity recorded", "record with CUDA")
_NO_GPU = NotApplicable("no GPU took part in this run")


def _lines(*reports: Report, top: int = 0) -> list[str]:
    return without_account(render(reports, top).splitlines())


def _row(left: str, right: str) -> str:
    """A line of 80 columns, one part at each of its ends."""
    return left + right.rjust(80 - len(left))


def test_a_report_as_a_whole() -> None:
    """One op of 10 us, no steps: the run took 10 us."""
    made = report(
        finding("XYZ001", Severity.INFO, at="", message="odd"),
        finding("XYZ002", cost_ns=4_000, cost_share=0.4, matches=6),
        finding("XYZ002", Severity.INFO, at="train.py:9", cost_ns=1_000, on_device=True),
        XYZ003=_SHAPES,
        XYZ004=_DEVICE,
        XYZ005=_SHAPES,
        XYZ006=_NO_GPU,
        XYZ007=Crashed("ValueError: no"),
    )
    assert _lines(made) == [
        "trace.json",
        "CPU run, no steps marked, 10.0 us of the run; recorded: names and times only",
        "",
        "XYZ002 rule-002 warning",
        _row("  train.py:7", "x6   4.00 us   40.0% of run"),
        "    something that costs",
        "    -> do without",
        "",
        "XYZ002 rule-002 info",
        _row("  train.py:9", "x1  GPU 1.00 us  outside steps"),
        "    something that costs",
        "    -> do without",
        "",
        "XYZ001 rule-001 info",
        _row("  (location unknown)", "x1"),
        "    odd",
        "    -> do without",
        "",
        "Locations are unknown: no Python stacks recorded; record with with_stack=True",
        "",
        "Not checked",
        "  XYZ003, XYZ005: no input shapes recorded; record with record_shapes=True",
        "  XYZ004: no device activity recorded; record with CUDA",
        "",
        "Does not apply: XYZ006 (no GPU took part in this run)",
        "",
        "XYZ007 crashed: ValueError: no (TIDY_TRACEBACK=1 shows where)",
        "",
        "1 warning, 2 info, 3 rules not checked, 1 rule crashed",
    ]


def test_a_report_of_nothing() -> None:
    assert _lines(report()) == [
        "trace.json",
        "CPU run, no steps marked, 10.0 us of the run; recorded: names and times only",
        "",
        "Nothing found",
    ]


def test_the_run_in_one_line() -> None:
    """Two steps of 20 and 30 us from 12 us on; 5 of their 50 us a kernel and 2 a copy.

    What is before them is no part of a figure, and said.
    """
    steps = """
    ProfilerStep#1 20us
      cudaLaunchKernel
        => kernel 5us
    ProfilerStep#2 30us
      cudaMemcpyAsync
        => Memcpy HtoD 2us 64B
    """
    outline = "\n".join(line[4:] for line in steps.splitlines())
    lost = "1 event could not be decoded and is lost"
    made = trace(outline, rank=1, of=8, warnings=[lost])
    assert _lines(report(run=made))[:4] == [
        "trace.json",
        "GPU, rank 1 of 8, 2 steps of 25.0 us, GPU busy 14%; left out: 12.0 us outside of",
        "steps; recorded: names and times only",
        "note: 1 event could not be decoded and is lost",
    ]


def _of_lengths(*lengths_us: int) -> str:
    outline = "".join(f"ProfilerStep#{n} {each}us\n" for n, each in enumerate(lengths_us))
    return " ".join(_lines(report(run=trace(outline)))[1:3])


def test_unlike_steps_are_said_to_be_so() -> None:
    assert "10 steps of 109 us;" in _of_lengths(*[100, 110, 120, 100, 110, 110, 100, 120, 110, 110])
    unlike = _of_lengths(*[100, 200, 100, 210, 100, 190, 100, 200, 100, 100, 100])
    assert "11 steps of 136 us in the mean (100 to 210, median 100)" in unlike


def test_a_world_without_ranks_names_none() -> None:
    made = trace('# distributedInfo {"world_size": 2}\n')
    assert "rank" not in _lines(report(run=made))[1]


def test_ranks_are_named_where_not_all_have_it() -> None:
    common = finding(cost_ns=10_000, cost_share=1.0)
    own = finding("XYZ002", at="")
    made = [
        report(common, run=trace(path=f"r{n}.json", rank=n, of=8), XYZ003=_SHAPES) for n in range(5)
    ]
    made.append(report(own, run=trace(path="r5.json", rank=5, of=8), XYZ004=_DEVICE))
    lines = _lines(*made)
    assert lines[:4] == [f"r{n}.json" for n in range(4)]
    assert lines[4] == "and 2 more ranks of the same job"
    assert "ranks 0-5 of 8" in lines[5]
    assert "    something that costs (ranks 0-4)" in lines
    assert "    something that costs (rank 5)" in lines
    assert "  XYZ003: no input shapes recorded (ranks 0-4); record with record_shapes=True" in lines
    assert "  XYZ004: no device activity recorded (rank 5); record with CUDA" in lines
    assert lines[-1] == "2 warnings, 2 rules not checked"


def test_the_rank_whose_cost_it_is_stands_beside_it() -> None:
    made = [
        report(finding(cost_ns=ns, cost_share=ns / 10_000), run=trace(rank=rank, of=2))
        for rank, ns in enumerate((200, 600))
    ]
    assert _row("  train.py:7", "x2   0.60 us    6.0% of run on rank 1") in _lines(*made)


def test_a_message_is_said_once_for_places_that_share_it() -> None:
    other = finding(at="a.py:3", message="other")
    lines = _lines(report(finding(at="a.py:1"), finding(at="a.py:2"), other))
    assert [line.split()[0] for line in lines if line.startswith(" ")] == [
        "a.py:1", "something", "a.py:2", "a.py:3", "other", "->",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("top", "shown", "more"),
    [
        (0, ["XYZ001", "XYZ002", "XYZ003"], None),
        (3, ["XYZ001", "XYZ002", "XYZ003"], None),
        (2, ["XYZ001", "XYZ002"], "... and 1 more finding (--top 0 shows all)"),
        (1, ["XYZ001"], "... and 2 more findings (--top 0 shows all)"),
    ],
)
def test_top(top: int, shown: list[str], more: str | None) -> None:
    made = report(*(finding(f"XYZ00{n}", cost_ns=9 - n) for n in (3, 1, 2)))
    lines = _lines(made, top=top)
    assert [line.split()[0] for line in lines if line.startswith("XYZ")] == shown
    assert [line for line in lines if line.startswith("...")] == ([more] if more else [])
    assert lines[-1] == "3 warnings"


def test_places_known_or_recorded_are_not_complained_about() -> None:
    stacks = trace("train.py(3): train\n  aten::mul")
    for made in (report(finding()), report(finding(at=""), run=stacks)):
        assert not [line for line in _lines(made) if line.startswith("Locations are unknown")]


def test_totals_over_several_traces() -> None:
    lines = _lines(
        report(finding("XYZ001", Severity.ERROR), XYZ009=_SHAPES),
        report(finding("XYZ001", Severity.ERROR), XYZ009=_SHAPES),
    )
    assert lines[-1] == "2 errors, 1 rule not checked in 2 traces"


def test_that_no_name_was_asked_for_is_not_worth_a_line() -> None:
    lines = _lines(report(TDY000=NotApplicable("no --name was given")))
    assert lines[-1] == "Nothing found"
    assert len(lines) == 4


def test_nothing_moves_the_cursor() -> None:
    made = report(
        finding("XYZ001", at="\x1b[1mtrain.py:7", message="m\x1b[2J", fix="f\n\x9b2J"),
        run=trace(path="\x1b[3mtrace.json\r", warnings=["w\x07"]),
        XYZ002=Crashed("ValueError: \x1b[4m"),
    )
    lines = _lines(made)
    assert not [char for line in lines for char in line if not char.isprintable()]
    for shown in ("    m?[2J", "    -> f??2J", "?[3mtrace.json?", "note: w?"):
        assert shown in lines
    assert "XYZ002 crashed: ValueError: ?[4m (TIDY_TRACEBACK=1 shows where)" in lines


def test_a_finding_without_events_is_a_finding() -> None:
    """As a rule that thinks in tables may make it."""
    lines = _lines(report(finding(matches=0, cost_ns=1_000, cost_share=0.1)))
    assert [line.split() for line in lines if "train.py" in line] == [
        "train.py:7 in all 1.00 us 10.0% of run".split()
    ]


_SAVED = Saving(36_000_000, 45_000_000, 153_000_000, "without it")


def _weighed(*found: Finding, **more: Any) -> Report:
    """A report as if its findings had been replayed."""
    made = report()
    fidelity = Fidelity(more.pop("error", 0.001), more.pop("p90_error", 0.02))
    given = {"step_ns": 153_000_000, "step_ns_after": (90_000_000, 900_000), "fidelity": fidelity}
    made.__dict__["weighed"] = Weighed(tuple(found), **{**given, **more})
    return made


def test_what_fixes_save_is_said_of_a_step() -> None:
    made = _weighed(
        finding(saving=_SAVED),
        finding("XYZ002", saving=replace(_SAVED, low_ns=0, high_ns=100_000, why="hidden: so")),
        finding("XYZ003", saving=replace(_SAVED, low_ns=0, high_ns=0)),
        finding("XYZ004", why_no_edit="nobody knows"),
        finding("XYZ005", saving=_SAVED, at="a.py:1"),
        finding("XYZ005", saving=replace(_SAVED, high_ns=40_000_000), at="a.py:2"),
        step_ns_after=(99_000_000, 117_000_000),
    )
    lines = _lines(made)
    assert _row("XYZ001 rule-001 warning", "saves 36.0 to 45.0 of 153 ms") in lines
    assert _row("XYZ002 rule-002 warning", "saves less than 1% of 153 ms") in lines
    assert "    hidden: so" in lines
    assert _row("XYZ003 rule-003 warning", "saves nothing") in lines
    assert "XYZ004 rule-004 warning" in lines
    assert "    saving not estimated: nobody knows" in lines
    # Of several places each has its own.
    at = lines.index("XYZ005 rule-005 warning")
    assert "    saves 36.0 to 45.0 of 153 ms" in lines[at:]
    assert "    saves 36.0 to 40.0 of 153 ms" in lines[at:]
    said = "With all of this fixed: 153 -> 99.0 to 117 ms"
    assert lines.index(said) < lines.index(_row("XYZ003 rule-003 warning", "saves nothing"))


@pytest.mark.parametrize(("error", "said"), [(0.01, ""), (0.02, "it is off by 2.0%")])
def test_how_far_a_replay_is_off_is_said_from_one_percent_on(error: float, said: str) -> None:
    lines = _lines(_weighed(finding(saving=_SAVED), error=error))
    text = " ".join(lines).partition("With all of this fixed: ")[2]
    assert ("replayed unchanged" in text) == (said != "")
    assert said in text


def test_many_rules_that_do_not_apply_are_counted_or_named() -> None:
    moot = {f"XYZ00{n}": NotApplicable(f"reason {n % 2}") for n in range(4)}
    file = io.StringIO()
    print_report(make_console(file, 80), [report(**moot)], verbose=True)
    assert "4 rules do not apply (--verbose lists them)" in _lines(report(**moot))
    assert [line for line in file.getvalue().splitlines() if "apply" in line] == [
        "Does not apply: XYZ000, XYZ002 (reason 0)",
        "Does not apply: XYZ001, XYZ003 (reason 1)",
    ]


@pytest.mark.parametrize(
    ("errors", "said"),
    [((0.064, 0.02), "6.4% of a run"), ((0.0, 0.112), "11.2% or more in one part of ten")],
)
def test_a_replay_that_is_far_off_says_so_and_no_more(
    errors: tuple[float, float], said: str
) -> None:
    """Whichever decided: the error of most steps, or that of the worst tenth of them."""
    made = _weighed(finding(), step_ns_after=None, error=errors[0], p90_error=errors[1])
    lines = _lines(made)
    text = " ".join(line.strip() for line in lines)
    assert f"savings are not estimated: a replay of the recorded run is off by {said}" in text
    assert not [line for line in lines if "With all" in line]


def test_a_replay_that_is_far_off_in_few_steps_names_them() -> None:
    said = "a replay of the recorded run is off by 15.0% or more in one step of ten"
    assert said in replay_is_off_text(Fidelity(0.0, 0.15), "step")


def test_device_work_that_may_be_missing_makes_upper_bounds() -> None:
    graph = "cudaGraphLaunch\n  => kernel 3us\n"
    lines = _lines(report(run=trace(graph)))
    assert "note: device activity may be missing in the file: idle time and savings are" in lines
    assert "GPU busy at least" in " ".join(lines)
    assert "upper" not in " ".join(_lines(report(run=trace("cudaLaunchKernel\n  => k 3us\n"))))


def test_what_costs_next_to_nothing_shares_a_line() -> None:
    tiny = [
        finding("XYZ001", Severity.INFO, at=f"train.py:{n}", cost_ns=2, cost_share=0.0004)
        for n in (1, 2)
    ]
    others = [
        finding("XYZ002", Severity.INFO, cost_ns=9, cost_share=0.0006),
        finding("XYZ003", Severity.ERROR, cost_ns=2, cost_share=0.0004),
        finding("XYZ004", Severity.INFO),  # no time is known
        finding("TDY000", Severity.INFO, cost_ns=2, cost_share=0.0004),  # asked for by name
    ]
    text = render([report(*tiny, *others)])
    assert "Less than 0.05% of the run each: XYZ001 x2 (--format json)" in text
    assert "XYZ001 rule-001" not in text
    for code in ("XYZ002 rule-002", "XYZ003 rule-003", "XYZ004 rule-004", "TDY000 rule-000"):
        assert code in text
    assert "1 error, 5 info" in text


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("<built-in function sleep>", "sleep"),
        ("<built-in method acquire of _thread.lock object at 0x7f>", "acquire"),
        ("model/data.py(7): parse_line", "parse_line"),
    ],
)
def test_a_function_that_takes_the_time_between_ops_is_named(name: str, function: str) -> None:
    run = trace(f"{name} 900us\naten::mul 1us\n")
    assert f"Python between ops ({function})" in render([report(run=run)], 0)


def test_a_long_name_of_a_kernel_fits_into_its_line() -> None:
    kernel = f"void at::native::reduce_kernel<{', '.join(['float'] * 40)}>(int)"
    run = trace(f"aten::sum > cudaLaunchKernel\n  => {kernel} 900us\n")
    lines = render([report(run=run)], 0).splitlines()
    (line,) = (each for each in lines if "at::n" in each)
    assert line.endswith("  at::n...duce_kernel")
    assert len(line) == 80
