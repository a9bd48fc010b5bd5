"""Running rules: what is visited and in which order, and rules of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import pytest

import tidy
from tidy import Pattern, Severity, Trace
from tidy.finding import Checked
from tidy.patterns.base import Match
from tidy.patterns.runner import run_patterns
from tidy.trace import Event
from tidy.trace.outline import parse_outline

from ..environment import ROOT

_OUTLINE = """
train.py(3): train
  aten::linear 30us
    aten::addmm
      cudaLaunchKernel
        => gemm 9us
  aten::relu
thread 2
aten::zero_
  aten::fill_
"""


class _Seen(Pattern):
    """A rule that notes what it is shown."""

    code = "ABC001"

    def __init__(self) -> None:
        self.names: list[str] = []

    def match(self, event: Event) -> bool:
        self.names.append(event.name)
        return False


def _visited(
    traversal: Literal["dfs", "bfs"] = "dfs", triggers: Iterable[str] = (), outline: str = _OUTLINE
) -> list[str]:
    rule = type("Seen", (_Seen,), {"traversal": traversal, "triggers": frozenset(triggers)})()
    outcome = run_patterns(parse_outline(outline), [rule])["ABC001"]
    assert outcome == Checked()
    assert isinstance(rule, _Seen)
    return rule.names


def test_without_triggers_match_sees_the_whole_tree() -> None:
    assert _visited() == [
        "train.py(3): train", "aten::linear", "aten::addmm", "aten::relu",
        "aten::zero_", "aten::fill_",
    ]  # fmt: skip


def test_breadth_first() -> None:
    assert _visited("bfs") == [
        "train.py(3): train", "aten::zero_",
        "aten::linear", "aten::relu", "aten::fill_", "aten::addmm",
    ]  # fmt: skip


def test_triggers_name_what_a_match_starts_at() -> None:
    assert _visited(triggers=["aten::addmm", "aten::*_"]) == [
        "aten::addmm",
        "aten::zero_",
        "aten::fill_",
    ]
    assert _visited("bfs", ["aten::*_", "aten::linear"]) == [
        "aten::zero_",
        "aten::linear",
        "aten::fill_",
    ]
    assert _visited(triggers=["nothing"]) == []


@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_a_trigger_may_be_a_call_or_a_kernel(traversal: Literal["dfs", "bfs"]) -> None:
    assert _visited(traversal, ["aten::relu", "cuda*", "gemm"]) == [
        "aten::relu", "cudaLaunchKernel", "gemm",
    ]  # fmt: skip


class Relus(Pattern):
    """Relus."""

    code, severity = "ABC002", Severity.ERROR
    triggers = frozenset({"aten::relu"})
    fix = "do without"

    def match(self, event: Event) -> bool:
        return event.duration_ns > 0


def test_a_rule_of_ones_own() -> None:
    report = tidy.check(parse_outline(_OUTLINE), select=["TDY000"], patterns=[Relus()])
    (finding,) = report.findings
    assert (finding.code, finding.name, finding.message) == ("ABC002", "relus", "Relus.")
    assert (finding.count, str(finding.location), finding.fix) == (1, "train.py:3", "do without")
    assert report.exit_code() == 1


def test_a_class_is_chosen_like_our_own() -> None:
    trace = parse_outline(_OUTLINE)
    assert tidy.check(trace, select=["ABC"], patterns=[Relus]).outcomes.keys() == {"ABC002"}
    assert tidy.check(trace, select=["relus"], patterns=[Relus]).findings
    assert "ABC002" not in tidy.check(trace, ignore=["ABC002"], patterns=[Relus]).outcomes


class WholeTrace(Pattern):
    """A rule that thinks in tables."""

    code = "ABC003"

    def find(self, trace: Trace) -> Iterable[Match]:
        kernels = list(trace.events(trace.device_rows))
        yield Match(kernels, f"{len(kernels)} kernels")


def test_the_tree_that_the_documentation_draws() -> None:
    text = (ROOT / "docs" / "writing-rules.md").read_text("utf-8")
    drawn = re.findall(r"^    ( *\S.*?) +dfs (\d) +bfs (\d)$", text, re.MULTILINE)
    names = [name.strip() for name, _, _ in drawn]
    outline = "".join(f"{name}\n" for name, _, _ in drawn)
    for number, traversal in enumerate(("dfs", "bfs"), 1):
        order = sorted(drawn, key=lambda line: line[number])
        assert _visited(traversal, outline=outline) == [line[0].strip() for line in order]
    relu = parse_outline(outline).named("aten::relu")[0]
    assert [[e.name for e in side] for side in Pattern.siblings_of(relu)] == [["aten::linear"], []]
    assert (Pattern.prev_of(relu).name, Pattern.next_of(relu)) == ("aten::linear", None)
    assert Pattern.root_of(relu).name == names[0]


class AsInTorchTidy(Pattern):
    """Relus."""

    code, triggers = "ABC004", "aten::relu"

    def match(self, event: Event) -> bool:
        return self.root_of(event).name.startswith("train.py")

    def report(self, event: Event) -> str:
        return f"{event.name} comes after {[each.name for each in self.siblings_of(event)[0]]}"


def test_a_rule_as_torchtidy_has_them() -> None:
    outcome = run_patterns(parse_outline(_OUTLINE), [AsInTorchTidy()])["ABC004"]
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert finding.message == "aten::relu comes after ['aten::linear']"


def test_a_rule_that_overrides_find() -> None:
    outcome = run_patterns(parse_outline(_OUTLINE), [WholeTrace()])["ABC003"]
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert (finding.message, finding.cost_ns, finding.on_device) == ("1 kernels", 9000, True)
