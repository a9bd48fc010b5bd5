"""`tidy account`: where the time of traces went, alone, per step or per line of source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from ..account import Accountant, waits_for_ranks
from ..check.summary import is_next_to_nothing, too_little_text
from ..report.account_text import print_account
from ..report.console import ReportConsole, make_console
from ..report.efficiency_text import print_efficiency
from ..report.json_report import account_to_json, document
from ..report.units import location_text, shortened
from ..trace import Trace, count_text, printable, time_text
from .files import check_output, find_files, of_step, opened

SCHEMA_VERSION = 1
_NAME_WIDTH, _TIME_WIDTH = 44, 10


def run_account(
    traces: Sequence[str],
    form: str,
    output: str | None,
    by_step: bool,
    by_line: bool,
    rows: int,
    width: int | None = None,
    step: str | None = None,
    jobs: int | None = None,
) -> int:
    """Read, account and print, as the options of the command say; gives the exit code."""
    inputs = find_files(traces, jobs)
    check_output(output, sources=[path for path, _ in inputs.files])
    read = [of_step(each, step) for each in inputs.read()]
    accountants = [
        (trace, Accountant(trace, waits=waits))
        for trace, waits in zip(read, waits_for_ranks(read), strict=True)
    ]
    inputs.say_what_is_missing()
    with opened(output) as file:
        if form == "json":
            made = [_to_json(*each, by_step, by_line, rows) for each in accountants]
            json.dump(document(SCHEMA_VERSION, inputs.unreadable, made), file, indent=1)
            file.write("\n")
        else:
            console = make_console(file, width)
            for trace, accountant in accountants:
                _print(console, trace, accountant)
                for line in _steps(accountant) if by_step else ():
                    console.show(line)
                for line in _lines(accountant, rows, console) if by_line else ():
                    console.show(line)
    return 2 if inputs.unreadable else 0


def _to_json(
    trace: Trace, accountant: Accountant, by_step: bool, by_line: bool, rows: int
) -> dict[str, Any]:
    accounts = () if is_next_to_nothing(trace) else accountant.accounts()
    made: dict[str, Any] = {
        "path": trace.info.path,
        "account": [account_to_json(account) for account in accounts],
    }
    if by_step:
        made["steps"] = [
            {"number": step.number, "account": [account_to_json(each) for each in accounts]}
            for step, accounts in accountant.by_step()
        ]
    if by_line:
        made["lines"] = [
            {
                "location": line.place.location and str(line.place.location),
                "name": line.place.name,
                "host_ns": line.host_ns,
                "device_ns": line.device_ns,
            }
            for line in accountant.by_line(rows)
        ]
    return made


def _print(console: ReportConsole, trace: Trace, accountant: Accountant) -> None:
    console.show(Text(console.fitted(printable(trace.info.path), console.width), "bold"))
    if is_next_to_nothing(trace):
        console.wrapped(too_little_text(trace))
        console.show()
        return
    for account in accountant.accounts():
        if account.device is not None and len(trace.devices_used) > 1:
            console.show(Text(f"device {account.device}", "bold"))
        print_account(console, account)
        print_efficiency(console, account)


def _steps(accountant: Accountant) -> Iterator[Text]:
    for step, accounts in accountant.by_step():
        for account in accounts:
            shares = (f"{part.share:.0%} {part.text}" for part in account.parts[:3])
            where = "" if account.device is None else f" device {account.device}"
            yield Text(f"step {step.number}{where}  {time_text(step.duration_ns)}  ").append(
                ", ".join(shares)
            )
    yield Text("")


def _lines(accountant: Accountant, rows: int, console: ReportConsole) -> Iterator[Text]:
    lines = accountant.by_line(rows)
    yield Text(f"{count_text(len(lines), 'line')} with most time", "bold")
    width = min(_NAME_WIDTH, console.width - 2 * (_TIME_WIDTH + 1))
    yield Text(f"{'':{width}} {'host':>{_TIME_WIDTH}} {'device':>{_TIME_WIDTH}}", "dim")
    for line in lines:
        place = line.place
        room = console.room(width)
        where = location_text(place.location, room) if place.location else place.name
        where = shortened(printable(where), room)
        times = (f"{time_text(ns):>{_TIME_WIDTH}}" for ns in (line.host_ns, line.device_ns))
        yield Text(f"{where:{width}} {' '.join(times)}")
    yield Text("")
