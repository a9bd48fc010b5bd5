"""A side made of traces: one, those of the ranks of a job, or those of several runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ..account import jobs_of
from ..check.checked_trace import CheckedTrace
from ..errors import UsageError
from ..report.sections import Section, make_sections
from ..trace import Trace
from .findings import FoundPlace
from .op_table import op_table, together
from .setting import Setting, differences, inputs_of
from .side import Side, average_account, slowest_rank


def side_of_traces(path: str, reports: Sequence[CheckedTrace]) -> Side:
    """Return the side that checked traces are.

    Args:
        path: as the user named it.
        reports: one a trace, at least one. Those that are ranks of one job are one run; all runs
            are of the same script, one after the other.

    Raises:
        UsageError: the runs differ in what they have to have in common.
    """
    jobs = [[reports[i] for i in job] for job in jobs_of([r.trace.info for r in reports])]
    settings = [_setting(job) for job in jobs]
    for job, setting in zip(jobs[1:], settings[1:], strict=True):
        for difference in differences(settings[0], setting):
            raise UsageError(
                f"{path}: holds runs that cannot be taken together: {difference.what} of"
                f" {job[0].trace.info.path} differs from that of the first"
            )
    runs = [slowest_rank([np.array(r.summary.steps_ns, float) for r in job]) for job in jobs]
    steps = np.concatenate(runs)
    tables = [together([op_table(report.trace) for report in job], at_once=True) for job in jobs]
    shares = [r.summary.busy_share for r in reports if r.summary.busy_share is not None]
    return Side(
        path,
        settings[0],
        runs,
        [job[0].summary.timed_steps for job in jobs],
        float(np.median(steps)) if len(steps) else None,
        average_account(
            [
                (len(account.window.steps), [(part.name, part.time_ns) for part in account.parts])
                for report in reports
                for account in report.accounts
            ]
        ),
        together(tables, at_once=False),
        [place for job in jobs[:1] for section in make_sections(job) for place in _found(section)],
        frozenset(set.intersection(*(set(report.checked) for report in reports))),
        _memory([report.trace for report in reports]),
        float(np.mean(shares)) if shares else None,
    )


def _setting(job: Sequence[CheckedTrace]) -> Setting:
    first = job[0]
    devices = Counter[str]()
    for report in job:
        devices.update(dict(report.summary.devices))
    shapes, dtypes = inputs_of(first.trace)
    return Setting(
        first.summary.framework.partition(" ")[0],
        tuple(sorted(devices.items())),
        first.summary.device_is_modelled,
        first.summary.world_size or 1,
        len(job),
        first.summary.recorded,
        first.summary.unit,
        first.summary.times,
        first.summary.light_slowdown,
        any(report.summary.is_quickest for report in job),
        shapes,
        dtypes,
    )


def _found(section: Section) -> Iterator[FoundPlace]:
    for place in section.places:
        finding = place.finding
        if finding.in_window:
            severity = finding.severity.label
            yield FoundPlace.of(finding, severity, place.count, place.cost_share)


def _memory(traces: Sequence[Trace]) -> dict[str, int]:
    """The most that tensors held at once, and the allocators of devices, on any rank."""
    most = defaultdict[str, int](int)
    for trace in traces:
        table = trace.memory
        inside = trace.in_window(table.row) if len(table) else np.zeros(0, bool)
        device = trace.device[table.row]
        for words, column, chosen in (
            ("tensors on the CPU", table.allocated_nbytes, device < 0),
            ("tensors on a device", table.allocated_nbytes, device >= 0),
            ("the allocator of a device", table.reserved_nbytes, device >= 0),
        ):
            greatest = int(column[inside & chosen].max(initial=-1))
            if greatest > 0:
                most[words] = max(most[words], greatest)
    return dict(most)
