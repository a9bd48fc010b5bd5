"""The report as JSON; docs/report.schema.json describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._version import __version__
from ..finding import Finding, Severity
from .model import Report
from .summary import summarize

SCHEMA_VERSION = 1


def reports_to_json(
    reports: Sequence[Report], unreadable: Mapping[str, str], exit_code: int
) -> dict[str, Any]:
    """The document that `tidy report --format json` writes.

    Args:
        unreadable: problem of each file that could not be read, by path.
        exit_code: of the command.
    """
    counts = {s.label: sum(report.counts[s] for report in reports) for s in Severity}
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "tidy", "version": __version__},
        "summary": {**counts, "traces": len(reports), "exit_code": exit_code},
        "unreadable": [{"path": p, "problem": problem} for p, problem in unreadable.items()],
        "traces": [report_to_json(report) for report in reports],
    }


def report_to_json(report: Report) -> dict[str, Any]:
    """One trace: the run, the findings, and what could not be checked."""
    run = summarize(report.trace)
    return {
        "path": run.path,
        "rank": run.rank,
        "world_size": run.world_size,
        "devices": [{"name": name, "count": count} for name, count in run.devices],
        "device_is_modelled": run.device_is_modelled,
        "steps": {"count": run.step_count, "median_ns": run.step_ns},
        "span_ns": run.span_ns,
        "busy_share": run.busy_share,
        "busy_is_lower_bound": run.busy_is_lower_bound,
        "event_count": run.event_count,
        "recorded": list(run.recorded),
        "warnings": list(run.warnings),
        "findings": [_finding(finding) for finding in report.findings],
        "checked": sorted(
            set(report.outcomes)
            - set(report.not_checked)
            - set(report.not_applicable)
            - set(report.crashed)
        ),
        "not_checked": [
            {"code": code, "reason": o.reason, "remedy": o.remedy}
            for code, o in report.not_checked.items()
        ],
        "not_applicable": [
            {"code": code, "reason": o.reason} for code, o in report.not_applicable.items()
        ],
        "crashed": [{"code": code, "error": o.error} for code, o in report.crashed.items()],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    where, saving = finding.location, finding.saving
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "message": finding.message,
        "fix": finding.fix,
        "location": where
        and {
            "file": where.file,
            "line": where.line,
            "function": where.function,
            "is_call_line": where.is_call_line,
        },
        "count": finding.count,
        "cost_ns": finding.cost_ns,
        "cost_share": finding.cost_share,
        "on_device": finding.on_device,
        "saving": saving
        and {"low_ns": saving.low_ns, "high_ns": saving.high_ns, "model": saving.model},
        "events": [
            {"name": e.name, "start_ns": e.start_ns, "duration_ns": e.duration_ns}
            for e in finding.events
        ],
    }
