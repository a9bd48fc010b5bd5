"""What comes of a rule that is not checked, does not apply or crashes."""

from __future__ import annotations

import tidy
from tidy import Pattern, Trace
from tidy.finding import Checked, NotApplicable, NotChecked
from tidy.patterns.runner import run_patterns
from tidy.trace import Capability, Event
from tidy.trace.outline import parse_outline

_OUTLINE = "train.py(3): train\n  aten::relu"


class Anything(Pattern):
    """Any op."""

    code = "ABC002"
    triggers = frozenset({"aten::*"})

    def match(self, event: Event) -> bool:
        return True


class Greedy(Pattern):
    """Needs more than there is."""

    code = "ABC004"
    needs = frozenset({Capability.SHAPES, Capability.MEMORY})

    def match(self, event: Event) -> bool:
        raise AssertionError("what it needs is missing")


def test_a_rule_whose_needs_are_missing_is_not_checked() -> None:
    outcome = run_patterns(parse_outline(_OUTLINE), [Greedy()])["ABC004"]
    assert isinstance(outcome, NotChecked)
    assert "input shapes" in outcome.reason
    assert "memory" in outcome.reason
    assert Capability.SHAPES.option in outcome.remedy
    assert Capability.MEMORY.option in outcome.remedy


class Elsewhere(Greedy):
    """Is about something else."""

    code = "ABC005"

    def applies(self, trace: Trace) -> NotApplicable:
        return NotApplicable("no TPU took part")


def test_what_had_no_part_in_the_run_is_not_missed() -> None:
    outcome = run_patterns(parse_outline(_OUTLINE), [Elsewhere()])["ABC005"]
    assert outcome == NotApplicable("no TPU took part")


def test_launches_without_any_work_are_said_to_have_lost_it() -> None:
    """To record with CUDA is no remedy where it was on."""
    op = "aten::relu\n  cudaLaunchKernel 5us\n"
    lost = tidy.check(parse_outline("# device 0 NVIDIA A100 8.0\n" + 3 * op)).not_checked
    never = tidy.check(parse_outline("# device 0 NVIDIA A100 8.0\naten::relu\n")).not_checked
    assert "3 launches and no kernel" in lost["TDY402"].reason
    assert "ProfilerActivity" not in lost["TDY402"].remedy
    assert never["TDY402"].reason == "no device activity recorded"


class Broken(Pattern):
    """Raises."""

    code = "ABC006"
    error: BaseException = ValueError("on\ntwo lines")

    def match(self, event: Event) -> bool:
        raise self.error


class Leaving(Broken):
    """Exits, as a script copied into a rule may."""

    code = "ABC007"
    error = SystemExit(0)


class Unfinished(Pattern):
    """Has neither match nor check."""

    code = "ABC008"


def test_a_rule_that_raises_does_not_stop_the_others() -> None:
    broken = [Broken(), Leaving(), Unfinished()]
    report = tidy.check(parse_outline(_OUTLINE), select=["TDY000"], patterns=[*broken, Anything()])
    assert report.crashed.keys() == {"ABC006", "ABC007", "ABC008"}
    assert report.crashed["ABC006"].error.startswith("ValueError: on two lines (match, line ")
    assert "Traceback" in report.crashed["ABC006"].traceback
    assert "Unfinished defines neither match() nor find()" in report.crashed["ABC008"].error
    assert isinstance(report.outcomes["ABC002"], Checked)
    assert report.exit_code(fail_on=None) == 2
