"""`tidy table`: from paths on the command line to tables of averages."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import IO, Any

from ..averages import EventList, FunctionEventAvg
from ..averages.columns import COLUMNS, FIELDS, column_sorted_by
from ..averages.table import TableOptions
from ..check.summary import MODELLED_NOTE
from ..errors import TidyError, UsageError
from ..progress import say
from ..report.console import NARROWEST
from ..report.json_report import document
from ..trace import Capability, Trace, printable
from .files import InputFiles, check_output, find_files, opened

SCHEMA_VERSION = 1
_TEXT_ROWS = 20
_FORMULA = ("=", "+", "-", "@")


@dataclass(frozen=True, slots=True)
class TableChoice:
    """The options of the command that say what is shown; see `tidy table --help`."""

    sort_by: str | None
    group_by_shape: bool
    group_by_stack: int
    rows: int | None
    top_level: bool
    name_width: int

    def averages(self, trace: Trace) -> EventList:
        averages: EventList = trace.key_averages(self.group_by_shape, self.group_by_stack)
        return averages

    def sort_key(self, trace: Trace) -> str:
        on_device = Capability.DEVICE in trace.capabilities
        default = "self_device_time_total" if on_device else "self_cpu_time_total"
        return self.sort_by or default

    def asked_for(self) -> list[Capability]:
        """Return what has to be recorded for the options to have an effect."""
        asked = [Capability.SHAPES] if self.group_by_shape else []
        asked += [Capability.STACKS] if self.group_by_stack else []
        if self.sort_by is not None:
            column = column_sorted_by(self.sort_by)
            asked += [Capability.DEVICE] if column.of_device else []
            asked += [column.needs] if column.needs else []
        return list(dict.fromkeys(asked))


def run_table(
    traces: Sequence[str],
    form: str,
    output: str | None,
    width: int | None = None,
    jobs: int | None = None,
    **options: Any,
) -> int:
    """Read, average and print, as `TableChoice` and the options of all forms say."""
    choice = TableChoice(**options)
    try:
        choice.asked_for()
    except ValueError as error:
        raise UsageError(f"--sort-by: {error}") from error
    inputs = find_files(traces, jobs)
    check_output(output, sources=[path for path, _ in inputs.files])
    with opened(output) as file:
        _write(inputs, choice, form, file, width)
    return TidyError.exit_code if inputs.unreadable else 0


def _write(
    inputs: InputFiles, choice: TableChoice, form: str, file: IO[str], width: int | None
) -> None:
    """Nothing is printed before all is read, since a bar may be on the terminal until then."""
    if form == "text":
        several = len(inputs.files) > 1
        if width is None and (file.isatty() or os.environ.get("COLUMNS", "").isdecimal()):
            width = shutil.get_terminal_size().columns
        tables = []
        for trace in _read(inputs, choice):
            text = table_text(trace, choice, several, width)
            if text:
                tables.append(text)
            else:
                say(f"{trace.info.path}: no ops, ranges or kernels in it")
        inputs.say_what_is_missing()
        file.write("\n".join(tables))
        return
    records = [table_record(trace, choice) for trace in _read(inputs, choice)]
    inputs.say_what_is_missing()
    if form == "json":
        json.dump(document(SCHEMA_VERSION, inputs.unreadable, records), file, indent=1)
        file.write("\n")
    elif records:
        _write_csv(records, file)


def _read(inputs: InputFiles, choice: TableChoice) -> Iterator[Trace]:
    """Each trace, after saying what was asked for and is not in it."""
    for trace in inputs.read():
        for capability in choice.asked_for():
            if capability not in trace.capabilities:
                what = f"no {capability.label} recorded; {trace.info.remedy(capability)}"
                say(f"{trace.info.path}: {what}")
        yield trace


def table_text(trace: Trace, choice: TableChoice, heading: bool, width: int | None) -> str:
    """Return the table as PyTorch prints it, made to fit a width if one is given; "" without
    events.
    """
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
        gone = table.fit(width, column_sorted_by(sort_key).name)
        if gone:
            said = f"Not shown on a terminal this narrow: {', '.join(gone)}"
            table.below.append(fill(said, max(width, NARROWEST), break_on_hyphens=False))
    if trace.device_is_modelled:
        table.below.append(f"Note: {MODELLED_NOTE}")
    shown = len(table.columns[0].cells)
    total = sum(not choice.top_level or each.cpu_parent is None for each in averages)
    if shown < total:
        table.below.append(f"... and {total - shown:,} more rows (--rows 0 shows all)")
    text = table.text()
    return text if width is None else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def table_record(trace: Trace, choice: TableChoice) -> dict[str, Any]:
    """Return one trace of the JSON document; docs/table.md says what is in it."""
    averages = choice.averages(trace)
    rows = averages.sorted_by(choice.sort_key(trace))
    if choice.top_level:
        rows = [average for average in rows if average.cpu_parent is None]
    on_device = Capability.DEVICE in trace.capabilities
    absent = {c.field for c in COLUMNS if c.needs and c.needs not in trace.capabilities}
    absent |= set() if choice.group_by_shape else {"input_shapes"}
    absent |= set() if choice.group_by_stack else {"stack"}
    return {
        "path": trace.info.path,
        "rank": trace.info.rank,
        "device_is_modelled": trace.device_is_modelled,
        "recorded": sorted(capability.value for capability in trace.capabilities),
        "self_cpu_time_total_ns": averages.self_cpu_time_total_ns,
        "self_device_time_total_ns": averages.self_device_time_total_ns if on_device else None,
        "row_count": len(averages),
        "rows": [_record(row, absent) for row in rows[: choice.rows or None]],
    }


def _record(row: FunctionEventAvg, absent: set[str]) -> dict[str, Any]:
    """A row as plain values; None for what is absent, and for FLOPs that cannot be told."""
    values = {name: None if name in absent else getattr(row, name) for name in FIELDS}
    return values | {"flops": values["flops"] or None}


def _write_csv(traces: Iterable[Mapping[str, Any]], file: IO[str]) -> None:
    """A line a row, with the path of its trace.

    Text is made harmless as in the other formats: no control characters, and no cell that a
    spreadsheet would compute.
    """
    writer = csv.DictWriter(file, ("path", *FIELDS), lineterminator="\n")
    writer.writeheader()
    for trace in traces:
        for row in trace["rows"]:
            stack = row["stack"] and ";".join(row["stack"])
            values = {"path": trace["path"], **row, "stack": stack}
            writer.writerow({name: _cell(value) for name, value in values.items()})


def _cell(value: Any) -> Any:
    """A value for a cell; text that begins as a formula does gets a quote before it."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
