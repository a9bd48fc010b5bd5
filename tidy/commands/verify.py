"""`tidy verify`: measured beside predicted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from ..api import prepare
from ..progress import say
from ..report.console import make_console
from ..run import RunOptions
from ..trace import count_text, printable, time_text
from ..verify import Measured, Verification, verify
from .files import check_output, opened
from .wrong_kind import check_script

SCHEMA_VERSION = 1


def run_verify(
    command: Sequence[str],
    codes: tuple[str, ...],
    runs: int,
    form: str,
    output: str | None,
    width: int | None,
    **of_run: Any,
) -> int:
    """Record, time, compare and print. Gives the exit code: 1 where a prediction was missed."""
    options = RunOptions(command, to_stderr=True, **of_run)
    check_output(output)
    if not options.module:
        check_script(options.script)
    rules = prepare(codes)
    done = verify(options, rules, runs, say)
    missed = any(each.is_as_predicted is False for each in done.measured)
    with opened(output) as file:
        if form == "json":
            json.dump(_to_json(done), file, indent=1)
            file.write("\n")
        else:
            console = make_console(file, width)
            for line in _lines(done):
                console.show(line)
    return int(missed)


def _to_json(done: Verification) -> dict[str, object]:
    made = asdict(done)
    for each, measured in zip(made["measured"], done.measured, strict=True):
        each["is_as_predicted"] = measured.is_as_predicted
    return {"schema_version": SCHEMA_VERSION, **made}


def _lines(done: Verification) -> Iterator[Text]:
    yield Text(printable(done.script), "bold")
    if done.measured:
        yield Text(
            f"median step {time_text(done.before_ns)} with nothing recorded"
            f" ({count_text(done.step_count, 'step')}), {time_text(done.recorded_ns)} recorded"
        )
    for each in done.measured:
        yield Text("")
        yield Text(f"{', '.join(each.codes)}  {each.correction}", "bold")
        before = time_text(done.before_ns)
        verdicts = {True: "  as predicted", False: "  not as predicted", None: ""}
        verdict = verdicts[each.is_as_predicted]
        yield Text(f"  predicted  {before} -> {_predicted(each)}")
        yield Text(f"  measured   {before} -> {time_text(each.after_ns)}{verdict}")
    if done.ops:
        yield Text("")
        yield Text("single ops with the recorded shapes", "bold")
    for op in done.ops:
        shapes = " x ".join(str(list(shape)) for shape in op.shapes)
        yield Text(
            f"  {op.code} {op.op} {shapes}: {time_text(op.wrong_ns)} ->"
            f" {time_text(op.corrected_ns)}"
        )
    if done.left:
        yield Text("")
        yield Text(f"Not verified: {', '.join(done.left)} (nothing to switch on; edit the script)")


def _predicted(each: Measured) -> str:
    if each.predicted_ns is None:
        return "not predicted"
    low, high = map(time_text, each.predicted_ns)
    return low if low == high else f"{low} to {high}"
