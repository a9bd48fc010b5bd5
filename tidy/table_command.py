"""`tidy table`: from paths on the command line to tables of averages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import IO

from .averages import sort_attribute, sorted_by
from .errors import TidyError, UsageError
from .input_files import InputFiles, check_output, find_files, say
from .table_output import Choice, table_record, table_text, terminal_width, write_csv, write_json
from .trace import Capability, Trace

_NEEDED_BY_KEY = (
    ("device", Capability.DEVICE),
    ("memory", Capability.MEMORY),
    ("flops", Capability.SHAPES),
)


def run_table(
    traces: Sequence[str],
    sort_by: str | None,
    group_by_shape: bool,
    group_by_stack: int,
    rows: int | None,
    top_level: bool,
    name_width: int,
    form: str,
    output: str | None,
) -> int:
    """Read, average and print; arguments as the options of `tidy table`. Gives the exit code.

    Raises:
        TidyError: an option makes no sense, or the output cannot be written.
    """
    choice = Choice(sort_by, group_by_shape, group_by_stack, rows, top_level, name_width)
    try:
        sorted_by((), sort_by)
    except ValueError as error:
        raise UsageError(f"--sort-by: {error}") from error
    check_output(output)
    inputs = find_files(traces)
    if output is None or output == "-":
        _write(inputs, choice, form, sys.stdout)
    else:
        written = StringIO()
        _write(inputs, choice, form, written)
        if written.tell():
            _save(written.getvalue(), output)
    return TidyError.exit_code if inputs.unreadable else 0


def _save(text: str, output: str) -> None:
    try:
        with Path(output).open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"--output {output}: cannot be written: {reason}") from error


def _write(inputs: InputFiles, choice: Choice, form: str, file: IO[str]) -> None:
    """Nothing is printed before all is read, since a bar may be on the terminal until then."""
    if form == "text":
        several, width = len(inputs.files) > 1, terminal_width(file)
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
    found = [table_record(trace, choice) for trace in _read(inputs, choice)]
    inputs.say_what_is_missing()
    if form == "json":
        write_json(found, inputs.unreadable, file)
    elif found:
        write_csv(found, file)


def _read(inputs: InputFiles, choice: Choice) -> Iterator[Trace]:
    """Each trace, after saying what was asked for and is not in it."""
    asked = [Capability.SHAPES] if choice.group_by_shape else []
    asked += [Capability.STACKS] if choice.group_by_stack else []
    key = sort_attribute(choice.sort_by or "")
    asked += [needed for word, needed in _NEEDED_BY_KEY if word in key]
    for trace in inputs.read():
        for capability in dict.fromkeys(asked):
            if capability not in trace.capabilities:
                say(f"{trace.info.path}: no {capability.label} recorded; {capability.remedy}")
        yield trace
