"""Rules that compare ranks, with what a replay of the whole job adds to TDY902."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..finding import Checked, Finding, Outcome
from ..jobs import ERROR_OF_COST, LateCost, collectives_of, cost_of_late_ranks
from ..patterns.base import Pattern
from ..patterns.rules.late_rank import LateRank
from ..patterns.runner import crashed_by, run_on_ranks
from ..trace import Trace

_CODE = LateRank.code


def check_job(traces: Sequence[Trace], rules: Sequence[Pattern]) -> list[dict[str, Outcome]]:
    """Run the rules that compare ranks on the ranks of one job; return outcomes by code of each.

    The trace of one rank does not tell that collectives that queue wait for what is saved once.
    So no rank saves more than a replay of the job says that late ranks cost it, and what it saves
    is not known if hosts may be the limit.
    """
    outcomes = run_on_ranks(traces, rules)
    told = list(zip(traces, outcomes, strict=True))
    if not any(_is_sure(each) for trace, of in told for each in _found(trace, of)):
        return outcomes
    try:
        known = cost_of_late_ranks([collectives_of(each) for each in traces])
        return outcomes if known is None else [_corrected(*each, known) for each in told]
    except Exception as error:  # as of any rule: the others are reported
        return [{**of, _CODE: crashed_by(error)} if _CODE in of else of for of in outcomes]


def _found(trace: Trace, outcomes: dict[str, Outcome]) -> Sequence[Finding]:
    """Return what TDY902 found, if its savings are those of steps."""
    told = outcomes.get(_CODE)
    return told.findings if isinstance(told, Checked) and trace.window.unit == "step" else ()


def _is_sure(finding: Finding) -> bool:
    """Tell whether an edit is known of a job of which no rank is missing."""
    return finding.edit is not None and finding.edit.of_others and not finding.edit.untold


def _corrected(trace: Trace, outcomes: dict[str, Outcome], known: LateCost) -> dict[str, Outcome]:
    findings = [_at_most(each, known) for each in _found(trace, outcomes)]
    return {**outcomes, _CODE: Checked(tuple(findings))} if findings else outcomes


def _at_most(finding: Finding, known: LateCost) -> Finding:
    if finding.edit is None or not _is_sure(finding):
        return finding
    if known.may_be_hosts:
        why = replace(finding.correction, edit=None, why_no_edit=known.why_not)
        return replace(finding, correction=why)
    if known.cost_ns is None or known.why_not:
        return finding
    parts = 1 - ERROR_OF_COST, 1 + ERROR_OF_COST
    at_most = round(parts[0] * known.cost_ns), round(parts[1] * known.cost_ns)
    edit = replace(finding.edit, saves_at_most_ns=at_most)
    return replace(finding, correction=replace(finding.correction, edit=edit))
