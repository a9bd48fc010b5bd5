"""`tidy table`: averages as text, JSON and CSV."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from ._version import __version__
from .averages import EventList, TableOptions, key_averages, sort_title, sorted_by
from .averages.records import FIELDS, record
from .report.summary import MODELLED_NOTE, device_is_modelled
from .report.units import printable
from .trace import Capability, Trace

SCHEMA_VERSION = 1
_TEXT_ROWS = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """The options of the command that say what is shown."""

    sort_by: str | None
    group_by_shape: bool
    group_by_stack: int
    rows: int | None
    top_level: bool
    name_width: int

    def averages(self, trace: Trace) -> EventList:
        return key_averages(trace.function_events, self.group_by_shape, self.group_by_stack)

    def sort_key(self, trace: Trace) -> str:
        on_device = Capability.DEVICE in trace.capabilities
        default = "self_device_time_total" if on_device else "self_cpu_time_total"
        return self.sort_by or default


def terminal_width(file: IO[str]) -> int | None:
    """The columns of a terminal, None for what is none."""
    return shutil.get_terminal_size().columns if file.isatty() else None


def table_text(trace: Trace, choice: Choice, heading: bool, width: int | None) -> str:
    """The table as PyTorch prints it, "" of no events; on a terminal what fits its width."""
    averages = choice.averages(trace)
    if not averages:
        return ""
    sort_key = choice.sort_key(trace)
    options = TableOptions(
        row_limit=_TEXT_ROWS if choice.rows is None else choice.rows or -1,
        max_name_column_width=choice.name_width or None,
        header=printable(trace.info.path) if heading else None,
        top_level_events_only=choice.top_level,
    )
    table = averages.layout(sort_key, options)
    if width is not None:
        gone = table.fit(width, sort_title(sort_key, averages.use_device))
        if gone:
            table.below.append(f"Not shown on a terminal this narrow: {', '.join(gone)}")
    if device_is_modelled(trace):
        table.below.append(f"Note: {MODELLED_NOTE}")
    shown = len(table.columns[0].cells)
    total = sum(not choice.top_level or each.cpu_parent is None for each in averages)
    if shown < total:
        table.below.append(f"... and {total - shown:,} more rows (--rows 0 shows all)")
    text = table.text()
    return text if width is None else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def table_record(trace: Trace, choice: Choice) -> dict[str, Any]:
    """One trace of the JSON document; docs/table.md says what is in it."""
    averages = choice.averages(trace)
    rows = sorted_by(averages, choice.sort_key(trace))
    if choice.top_level:
        rows = [average for average in rows if average.cpu_parent is None]
    grouped = choice.group_by_shape, choice.group_by_stack > 0
    on_device = Capability.DEVICE in trace.capabilities
    return {
        "path": trace.info.path,
        "rank": trace.info.rank,
        "device_is_modelled": device_is_modelled(trace),
        "recorded": sorted(capability.value for capability in trace.capabilities),
        "self_cpu_time_total_ns": averages.self_cpu_time_total_ns,
        "self_device_time_total_ns": averages.self_device_time_total_ns if on_device else None,
        "row_count": len(averages),
        "rows": [record(each, trace, *grouped) for each in rows[: choice.rows or None]],
    }


def write_json(
    traces: Iterable[Mapping[str, Any]], unreadable: Mapping[str, str], file: IO[str]
) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "tidy", "version": __version__},
        "unreadable": [{"path": p, "problem": problem} for p, problem in unreadable.items()],
        "traces": list(traces),
    }
    json.dump(document, file, indent=1)
    file.write("\n")


def write_csv(traces: Iterable[Mapping[str, Any]], file: IO[str]) -> None:
    """A line a row, with the path of its trace."""
    writer = csv.DictWriter(file, ("path", *FIELDS), lineterminator="\n")
    writer.writeheader()
    for trace in traces:
        for row in trace["rows"]:
            stack = row["stack"] and ";".join(row["stack"])
            writer.writerow({"path": trace["path"], **row, "stack": stack})
