"""The report as JSON; docs/report.schema.json describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..account import Account, Efficiency, Part
from ..check.checked_trace import CheckedTrace
from ..finding import Severity
from ..summary import FindingSummary, Summary, summary_of
from .changes import changes_to_json
from .job_json import job_to_json

if TYPE_CHECKING:
    from .results import Results

SCHEMA_VERSION = 2


def written_by() -> dict[str, str]:
    """Return the name and the version of the program that wrote a document."""
    return {"name": "tidy", "version": __version__}


def document(
    schema_version: int, unreadable: Mapping[str, str], traces: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """Return the JSON document of a command, with further keys before those about the traces."""
    return {
        "schema_version": schema_version,
        "tool": written_by(),
        **more,
        "unreadable": [{"path": p, "problem": problem} for p, problem in unreadable.items()],
        "traces": traces,
    }


def results_to_json(results: Results) -> dict[str, Any]:
    """Return the document that `tidy report --format json` writes."""
    reports = results.summaries
    counts = {s.label: sum(report.counts[s] for report in reports) for s in Severity}
    return document(
        SCHEMA_VERSION,
        results.unreadable,
        [report_to_json(report) for report in reports],
        summary={
            **counts,
            "suppressed": sum(report.accepted["comment"] for report in reports),
            "in_baseline": sum(report.accepted["baseline"] for report in reports),
            "traces": len(reports),
            "exit_code": results.exit_code,
            "script_status": results.script_status,
        },
        gone=list(results.gone),
        jobs=[job_to_json(each.job) for each in results.sections if each.job is not None],
        recordings=changes_to_json(results.recordings),
    )


def report_to_json(report: CheckedTrace | Summary) -> dict[str, Any]:
    """Return one trace: the run, the findings, and what could not be checked."""
    return _report(summary_of(report))


def _report(report: Summary) -> dict[str, Any]:
    run = report.run
    return {
        "path": run.path,
        "rank": run.rank,
        "world_size": run.world_size,
        "framework": run.framework or None,
        "devices": [{"name": name, "count": count} for name, count in run.devices],
        "device_is_modelled": run.device_is_modelled,
        "steps": {
            "count": run.step_count,
            "mean_ns": run.step_ns,
            "median_ns": run.median_ns,
            "durations_ns": list(run.steps_ns),
            "timed": run.timed_steps,
            "times": run.times,
            "light_slowdown": run.light_slowdown,
            "quickest": run.is_quickest,
        },
        "span_ns": run.span_ns,
        "busy_share": run.busy_share,
        "busy_is_lower_bound": run.busy_is_lower_bound,
        "event_count": run.event_count,
        "recorded": list(run.recorded),
        "warnings": list(run.warnings),
        "account": [account_to_json(account) for account in report.accounts],
        "replay": _replay(report),
        "findings": [_finding(finding) for finding in report.findings],
        "checked": sorted(report.checked),
        "not_checked": [{"code": code, **asdict(why)} for code, why in report.not_checked.items()],
        "not_applicable": [
            {"code": code, **asdict(why)} for code, why in report.not_applicable.items()
        ],
        "crashed": [{"code": code, "error": o.error} for code, o in report.crashed.items()],
    }


def account_to_json(account: Account) -> dict[str, Any]:
    """Return the account of one device; the times of its parts add up to the window's."""
    window = account.window
    return {
        "device": "host" if account.device is None else account.device,
        "idle_is_upper_bound": account.idle_is_upper_bound,
        "window": {
            "unit": window.unit,
            "count": len(window.steps),
            "start_ns": window.start_ns,
            "end_ns": window.end_ns,
            "time_ns": window.time_ns,
            "left_out": [
                {"step": each.label, "time_ns": each.time_ns, "reason": each.reason}
                for each in window.left_out
            ],
        },
        "parts": _parts(account.parts, window.time_ns),
        "not_counted": _parts(account.not_counted, sum(p.time_ns for p in account.not_counted)),
        "efficiency": account.efficiency and _efficiency(account.efficiency),
    }


def _parts(parts: Iterable[Part], whole_ns: int) -> list[dict[str, Any]]:
    return [
        {
            "part": part.part,
            "cause": part.cause,
            "tensor_cores": part.tensor_cores,
            "kinds": [{"kind": kind, "time_ns": time_ns} for kind, time_ns in part.kinds],
            "time_ns": part.time_ns,
            "share": part.share,
            "mostly_in": part.mostly_in or None,
            "places": [
                {
                    "location": place.location and asdict(place.location),
                    "name": place.name,
                    "time_ns": place.time_ns,
                    "share": place.time_ns / whole_ns,
                }
                for place in part.places
            ],
        }
        for part in parts
    ]


def _efficiency(efficiency: Efficiency) -> dict[str, Any]:
    """Return the rates that a device reached, computing and reading memory, and its peaks."""
    rates = efficiency.rates
    return {
        "products": [
            {
                "precision": each.precision,
                "on_matrix_cores": each.on_matrix_cores,
                "flops": each.flops,
                "time_ns": each.time_ns,
                "flops_per_s": each.flops_per_s,
                "peak_flops_per_s": each.peak_flops_per_s,
            }
            for each in efficiency.products
        ],
        "uncounted_ns": efficiency.uncounted_ns,
        "model_flops_utilization": efficiency.model_flops_utilization,
        "elementwise": {
            "nbytes": efficiency.elementwise_nbytes,
            "time_ns": efficiency.elementwise_ns,
            "uncounted_ns": efficiency.elementwise_uncounted_ns,
            "nbytes_per_s": efficiency.nbytes_per_s,
            "peak_nbytes_per_s": rates and rates.nbytes_per_s,
        },
        "peaks_from": rates and rates.source,
    }


def _replay(report: Summary) -> dict[str, Any] | None:
    """Return the errors of the replay, and the length of a step after all fixes."""
    replay = report.replay
    if replay.fidelity is None:
        return None
    return {
        "median_error": replay.fidelity.median_error,
        "p90_error": replay.fidelity.p90_error,
        "abstained": replay.fidelity.abstains,
        "step_ns": replay.step_ns,
        "step_ns_after": replay.step_ns_after and list(replay.step_ns_after),
        "is_upper_bound": report.run.busy_is_lower_bound,
    }


def _finding(finding: FindingSummary) -> dict[str, Any]:
    where, saving = finding.location, finding.saving
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "message": finding.message,
        "fix": finding.fix,
        "location": where and asdict(where),
        "fix_place": finding.fix_place and asdict(finding.fix_place),
        "count": finding.count,
        "cost_ns": finding.cost_ns,
        "cost_share": finding.cost_share,
        "on_device": finding.on_device,
        "in_window": finding.in_window,
        "saving": saving and {**asdict(saving), "step_ns_after": list(saving.step_ns_after)},
        "why_no_saving": None if saving else finding.why_no_edit or None,
        "suppressed": finding.acceptance and asdict(finding.acceptance),
        "baseline": finding.known and asdict(finding.known),
        "events": [asdict(each) for each in finding.events],
    }
