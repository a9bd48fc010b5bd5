"""What `Pattern` offers to those who write rules."""

from __future__ import annotations

import pytest

import tidy
from tidy import Pattern, Severity, Trace
from tidy.patterns.base import Match
from tidy.patterns.examples import launch, on_gpu, steps
from tidy.savings import Edit
from tidy.trace import Event, Location
from tidy.trace.outline import parse_outline

_OUTLINE = """
ProfilerStep#1 100us
  train.py(3): train
    aten::linear 30us
      aten::addmm 10us
        cudaLaunchKernel
          => gemm 9us
    aten::relu 5us
    aten::sum 5us
  other.py(8): test
    aten::relu 5us
"""


class Ops(Pattern):
    """Ops, and what follows."""

    code = "ABC001"
    severity = Severity.INFO
    fix = "less"

    def severity_of(self, event: Event) -> Severity:
        return Severity.ERROR if event.name == "aten::linear" else Severity.INFO


def _trace() -> Trace:
    return parse_outline(_OUTLINE)


def _the(trace: Trace, name: str) -> Event:
    return trace.named(name)[0]


def test_siblings() -> None:
    trace = _trace()
    relu = _the(trace, "aten::relu")
    before, after = Ops.siblings_of(relu)
    assert [e.name for e in before] == ["aten::linear"]
    assert [e.name for e in after] == ["aten::sum"]
    assert Ops.prev_of(relu) == _the(trace, "aten::linear")
    assert Ops.next_of(relu) == _the(trace, "aten::sum")
    assert Ops.prev_of(_the(trace, "aten::linear")) is None
    assert Ops.next_of(_the(trace, "aten::sum")) is None


def test_ancestors() -> None:
    trace = _trace()
    addmm = _the(trace, "aten::addmm")
    assert Ops.root_of(addmm).name == "ProfilerStep#1"
    above = Ops.go_up_until(addmm, lambda event: event.name.startswith("train.py"))
    assert above == _the(trace, "train.py*")
    assert Ops.go_up_until(addmm, lambda event: event.name == "aten::addmm") == addmm
    assert Ops.go_up_until(addmm, lambda event: event.name == "nothing") is None


def test_summary_and_slug() -> None:
    assert Ops.summary() == "Ops, and what follows."
    assert Ops.slug() == "ops"
    names = ("FP32Matmul", "ForLoopIndexing", "HTTPServer2Go", "X")
    rules: list[type[Pattern]] = [type(name, (Pattern,), {}) for name in names]
    slugs = [rule.slug() for rule in rules]
    assert slugs == ["fp32-matmul", "for-loop-indexing", "http-server2-go", "x"]


def test_one_trigger_may_stand_alone() -> None:
    class Relus(Ops):
        triggers = "aten::relu"

        def match(self, event: Event) -> bool:
            return True

    assert [event.name for event in Relus().matched_events(_trace())] == ["aten::relu"] * 2


def test_one_finding_a_place_and_severity() -> None:
    trace = _trace()
    rule = Ops()
    matches = rule.by_place(trace.named("aten::linear", "aten::relu", "aten::sum"))
    findings = [rule.finding(trace, match) for match in matches]
    found = {(str(f.location), f.severity): [e.name for e in f.events] for f in findings}
    assert found == {
        ("train.py:3", Severity.ERROR): ["aten::linear"],
        ("train.py:3", Severity.INFO): ["aten::relu", "aten::sum"],
        ("other.py:8", Severity.INFO): ["aten::relu"],
    }


def test_costs_are_counted_once() -> None:
    trace = _trace()
    match = Match([_the(trace, "aten::addmm"), _the(trace, "aten::linear")])
    finding = Ops().finding(trace, match)
    assert finding.cost_ns == 30_000
    assert finding.cost_share == 0.3
    assert [event.name for event in finding.events] == ["aten::linear", "aten::addmm"]


@pytest.mark.parametrize(("kernel_us", "is_seen"), [(5, True), (70, True), (80, False)])
def test_what_a_busy_device_hides_is_no_warning(kernel_us: int, is_seen: bool) -> None:
    """A loop of 79 us, after the launch of a kernel; at most that is what it costs."""
    rounds = "aten::select\naten::fill_\n" * 20
    work = launch("aten::mm 9us", f"gemm {kernel_us}us"), rounds
    trace = parse_outline(on_gpu(steps(*work, lasts_us=1000)))
    (finding,) = tidy.check(trace, select=["TDY404"], savings="off").findings
    assert finding.cost_ns == 79_000
    assert finding.severity == (Severity.WARNING if is_seen else Severity.INFO)


def test_what_a_rule_knows_better() -> None:
    trace = _trace()
    event = _the(trace, "aten::relu")
    edit, place = Edit("a guess"), Location("there.py", 1, "f")
    rows = trace.device_rows.tolist()
    match = Match([event], "seen", rows, edit, Severity.ERROR, location=place, fix="do so")
    finding = Ops().finding(trace, match)
    assert (finding.message, finding.severity, finding.location) == ("seen", Severity.ERROR, place)
    assert (finding.cost_ns, finding.on_device, finding.edit) == (9000, True, edit)
    assert finding.fix == "do so"
    assert Ops().finding(trace, Match([event], location=None)).location is None
    assert Ops().finding(trace, Match([event], cost=[])).cost_ns == 0


def test_a_match_of_the_whole_run_has_no_place() -> None:
    found = Ops().finding(_trace(), Match([], "seen"))
    assert (found.message, found.location, found.count) == ("seen", None, 0)
    assert (found.severity, found.in_window) == (Ops.severity, True)


@pytest.mark.parametrize(("factor", "severity"), [(1.01, Severity.INFO), (1, Severity.WARNING)])
def test_a_share_from_which_a_match_is_a_warning(factor: float, severity: Severity) -> None:
    class Warns(Pattern):
        """Warns."""

    trace = _trace()
    event = _the(trace, "aten::linear")
    share = trace.step_share(trace.time_of([event.row]))
    assert share is not None
    found = Warns().finding(trace, Match([event], severity=factor * share))
    assert (found.severity, found.correction.at_most) == (severity, Severity.WARNING)
