"""What rules say of their fixes, and of what the window leaves out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidy
from tidy import Finding, Severity, Trace
from tidy.check.weigh import weigh
from tidy.patterns.base import Match, Pattern
from tidy.patterns.examples import Fires, launch, on_gpu, steps, to_gpu, under
from tidy.patterns.runner import run_patterns
from tidy.trace.outline import parse_outline

from ..oracle.shared import TRACES, load, report
from .outlines import READ, WORK
from .rules import OWN_RULES

_LISTS_ONLY = "TDY000"


def _firing() -> Iterator[pytest.param]:  # type: ignore[valid-type]
    for rule in OWN_RULES:
        if rule.code != _LISTS_ONLY:
            for example in rule.examples:
                if isinstance(example, Fires):
                    yield pytest.param(rule, example, id=f"{rule.code}-{example.name}")


@pytest.mark.parametrize(("rule", "example"), list(_firing()))
def test_each_finding_says_what_its_fix_changes_or_why_it_cannot(
    rule: type[Pattern], example: Fires
) -> None:
    trace = example.trace()
    findings = run_patterns(trace, [rule()])[rule.code].findings  # type: ignore[union-attr]
    for finding in findings:
        assert (finding.edit is None) == bool(finding.correction.why_no_edit)
        if finding.edit is not None:
            assert finding.edit.model
            for left in (finding.edit.left, finding.edit.work_left or (0, 0)):
                assert 0 <= left[0] <= left[1] <= 1
            assert finding.edit.host or len(finding.edit.work) or len(finding.edit.waits)
    for finding in weigh(trace, findings).findings:
        if finding.saving is not None:
            assert 0 <= finding.saving.low_ns <= finding.saving.high_ns <= finding.cost_ns


def _found(outline: str, code: str, **options: object) -> list[Finding]:
    return list(tidy.check(parse_outline(outline), select=[code], **options).findings)  # type: ignore[arg-type]


_COLD = "cudaMalloc 9000us\n"


def test_figures_are_of_the_steps_that_count() -> None:
    """The first step of ten times the length asks for memory; its copy counts in no figure."""
    copies = to_gpu("Pageable", 262144)
    cold = under("ProfilerStep#0 10000us", _COLD, copies, WORK)
    inside, outside = _found(on_gpu(cold, _later(copies, WORK)), "TDY103")
    assert (inside.count, inside.in_window) == (3, True)
    assert inside.cost_share is not None
    assert inside.cost_share * 900_000 == pytest.approx(inside.cost_ns)
    assert (outside.count, outside.cost_ns, outside.cost_share) == (1, 0, None)
    assert (outside.severity, outside.saving) == (Severity.INFO, None)


@pytest.mark.parametrize(
    ("before", "second", "severity"),
    [
        ("", "gemm 600us cuda:1", Severity.WARNING),  # the other device waits for the host
        ("", "gemm 9us cuda:1", Severity.INFO),  # it has next to nothing to do
        ("", "gemm 600us", Severity.INFO),  # no other device
        ("aten::to", "gemm 600us cuda:1", Severity.INFO),  # it waits for what the first computes
    ],
)
def test_a_busy_device_hides_no_host_that_another_waits_for(
    before: str, second: str, severity: Severity
) -> None:
    loop = under("train.py(3): prepare", "aten::select 20us\naten::fill_ 20us\n" * 12)
    copied = launch(before, "Memcpy PtoP (Device -> Device) 5us cuda:1") if before else ""
    step = [launch("aten::mm", "gemm 500us"), launch("aten::mm", "gemm 2us cuda:1"), loop, copied]
    trace = on_gpu(
        "# device 1 NVIDIA A100 8.0", steps(*step, launch("aten::mm", second), lasts_us=1200)
    )
    (finding,) = _found(trace, "TDY404", savings="off")
    assert finding.severity == severity


def _later(*parts: str) -> str:
    return "".join(under(f"ProfilerStep#{number} 900us", *parts) for number in (1, 2, 3))


def test_what_only_happens_outside_of_the_steps_is_info() -> None:
    loop = under("train.py(3): prepare", "aten::select\naten::fill_\n" * 12)
    (finding,) = _found(on_gpu(loop, steps(WORK)), "TDY404")
    assert (finding.in_window, finding.severity, finding.cost_ns) == (False, Severity.INFO, 0)
    text = str(tidy.check(parse_outline(on_gpu(loop, steps(WORK))), select=["TDY404"]))
    assert "x1  outside of the steps that count" in text


def test_reads_in_the_cold_step_show_that_it_is_a_loop() -> None:
    """One read in a step that counts, and one in the step that is left out."""
    cold = under("ProfilerStep#0 10000us", _COLD, WORK, READ)
    plain = under("ProfilerStep#2 900us", WORK)
    again = under("ProfilerStep#1 900us", WORK, READ)
    found = _found(on_gpu(cold, again, plain, plain.replace("#2", "#3")), "TDY301")
    assert [(each.count, each.in_window) for each in found] == [(1, True), (1, False)]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_figures_of_recorded_runs_are_of_their_window(path: object) -> None:
    trace, made = load(path), report(path)  # type: ignore[arg-type]
    step_ns = trace.window.step_ns
    for finding in made.findings:
        inside = trace.in_window(event.row for event in finding.events)
        assert inside.all() if finding.in_window else not inside.any()
        assert finding.cost_ns == pytest.approx((finding.cost_share or 0) * step_ns, abs=1)
        if not finding.in_window:
            assert finding.severity in (Severity.INFO, Severity.ERROR)
        if finding.saving is not None:
            saving = finding.saving
            assert saving.step_ns == made.weighed.step_ns == step_ns
            assert 0 <= saving.low_ns <= saving.high_ns <= finding.cost_ns <= step_ns
            if finding.severity != Severity.ERROR:
                matters = saving.middle_ns >= 0.01 * step_ns and saving.low_ns >= 0.005 * step_ns
                assert matters == (finding.severity == Severity.WARNING), finding.code
        elif finding.severity == Severity.WARNING and finding.cost_share is not None:
            assert finding.cost_share >= 0.01
    after = made.weighed.step_ns_after
    if after is not None:
        assert 0 <= after[0] <= after[1] <= made.weighed.step_ns


def test_a_step_may_stay_as_long_as_it_is_if_no_fix_is_sure_to_save() -> None:
    """A script may decide by an evaluation; a checkpoint is not needed in each step."""
    rule = next(each for each in OWN_RULES if each.code == "TDY413")
    examples = {each.name: each for each in rule.examples}
    made = tidy.check(examples["evaluation"].trace(), select=["TDY413"])
    (found,) = made.findings
    assert found.saving is not None
    assert found.saving.low_ns == 0 < found.saving.high_ns
    assert made.weighed.step_ns_after == found.saving.step_ns_after
    sure = tidy.check(examples["checkpoint"].trace(), select=["TDY413"]).weighed
    assert sure.step_ns_after is not None
    assert sure.step_ns_after[1] < sure.step_ns


class Copies(Pattern):
    """Copies."""

    code, fix = "ABC009", "none"

    def find(self, trace: Trace) -> Iterator[Match]:
        yield Match(list(trace.named("aten::copy_")))


def test_a_rule_that_knows_no_window_has_its_figures_of_it_too() -> None:
    cold = under("ProfilerStep#0 10000us", _COLD, to_gpu("Pageable", 262144), WORK)
    trace = parse_outline(on_gpu(cold, _later(to_gpu("Pageable", 262144), WORK)))
    (finding,) = tidy.check(trace, select=["ABC009"], patterns=[Copies]).findings
    assert (finding.count, finding.in_window) == (3, True)


_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.mark.parametrize(
    ("fetch_us", "left"),
    [(300, (0.0, 1.0)), (600, (0.0, 0.83)), (800, (0.0, 0.625)), (1000, (0.125, 0.5))],
)
def test_workers_load_no_faster_than_they_can(fetch_us: int, left: tuple[float, float]) -> None:
    """Of 1,000 us: two workers need half as long for a batch, eight an eighth.

    And to receive it takes up to half a millisecond.
    """
    (finding,) = _found(steps(f"{_FETCH} {fetch_us - 1}us", lasts_us=1000), "TDY101")
    assert finding.edit is not None
    assert finding.edit.left == pytest.approx(left, abs=0.01)


@pytest.mark.parametrize(
    ("gpu", "times_as_fast"), [("NVIDIA A100 8.0", 8), ("NVIDIA L4 8.9", 2), ("NVIDIA A40 8.6", 2)]
)
def test_tf32_gains_what_the_gpu_makes_of_it(gpu: str, times_as_fast: int) -> None:
    product = launch("aten::mm | float[64, 64], float[64, 64]", "ampere_sgemm_64x64_nn 40us")
    (finding,) = _found(f"# device 0 {gpu}\n{steps(product)}", "TDY501")
    assert finding.edit is not None
    assert finding.edit.left == (1 / times_as_fast, 2 / times_as_fast)
