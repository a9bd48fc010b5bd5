"""A side made of a JSON report: all it says, which is nothing of ops, inputs and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import msgspec
import numpy as np

from ..account import PartName
from ..check.fingerprint import without_numbers
from ..trace import Location
from .findings import FoundPlace
from .setting import Setting
from .side import Side, average_account, slowest_rank

_SCHEMAS = 1, 2  # what is read here is alike in both


class _Named(msgspec.Struct):
    name: str
    count: int


class _Steps(msgspec.Struct):
    median_ns: int | None
    durations_ns: list[int] = []
    timed: int | None = None
    times: Literal["", "recorded", "light", "unrecorded"] = ""
    light_slowdown: float | None = None
    quickest: bool = False


class _Window(msgspec.Struct):
    unit: Literal["step", "round", "run"]
    count: int


class _Part(msgspec.Struct):
    part: str
    cause: str
    time_ns: int
    tensor_cores: bool | None = None


class _Account(msgspec.Struct):
    window: _Window
    parts: list[_Part]


class _Place(msgspec.Struct):
    file: str
    line: int
    function: str


class _FixPlace(msgspec.Struct):
    what: str
    location: Location


class _FindingOfReport(msgspec.Struct):
    code: str
    name: str
    severity: str
    message: str
    fix: str
    location: _Place | None
    count: int
    cost_share: float | None
    in_window: bool
    fix_place: _FixPlace | None = None  # earlier reports have none


class _RunOfReport(msgspec.Struct):
    rank: int | None
    world_size: int | None
    framework: str | None
    devices: list[_Named]
    device_is_modelled: bool
    steps: _Steps
    busy_share: float | None
    recorded: list[str]
    account: list[_Account]
    findings: list[_FindingOfReport]
    checked: list[str]


class _Report(msgspec.Struct):
    schema_version: int
    traces: list[_RunOfReport]


def is_report(content: bytes) -> bool:
    """Tell whether a file is a JSON report of tidy's and no trace."""
    head = content[:2000]
    return (
        head.lstrip()[:1] == b"{" and b'"schema_version"' in head and b'"traceEvents"' not in head
    )


def side_of_report(path: str, content: bytes) -> Side:
    """Return the side that `tidy report --format json` wrote.

    Raises:
        ValueError: this is no such report, or there is no trace in it.
    """
    try:
        report = msgspec.json.decode(content, type=_Report)
    except msgspec.DecodeError as error:
        raise ValueError(f"is no report of tidy: {error}") from None
    if report.schema_version not in _SCHEMAS:
        known = " or ".join(map(str, _SCHEMAS))
        raise ValueError(f"is a report of schema {report.schema_version}, and not of {known}")
    runs = report.traces
    if not runs:
        raise ValueError("is a report on no trace")
    first = runs[0]
    ranks = {run.rank for run in runs}
    if len(runs) > 1 and len(ranks) < len(runs):
        raise ValueError("is a report on several runs; compare reports on one each")
    steps = slowest_rank([np.array(run.steps.durations_ns, float) for run in runs])
    median_ns = max((run.steps.median_ns for run in runs if run.steps.median_ns), default=None)
    shares = [run.busy_share for run in runs if run.busy_share is not None]
    return Side(
        path,
        _setting(runs),
        [steps],
        [first.steps.timed],
        float(np.median(steps)) if len(steps) else median_ns,
        average_account([_parts(account) for run in runs for account in run.account]),
        None,
        _found(runs),
        frozenset(set.intersection(*(set(run.checked) for run in runs))),
        busy_share=float(np.mean(shares)) if shares else None,
    )


def _parts(account: _Account) -> tuple[int, list[tuple[PartName, int]]]:
    parts = [(PartName(p.part, p.cause, p.tensor_cores), p.time_ns) for p in account.parts]
    return account.window.count, parts


def _setting(runs: Sequence[_RunOfReport]) -> Setting:
    first = runs[0]
    devices = Counter[str]()
    for run in runs:
        devices.update({each.name: each.count for each in run.devices})
    return Setting(
        (first.framework or "").partition(" ")[0],
        tuple(sorted(devices.items())),
        first.device_is_modelled,
        first.world_size or 1,
        len(runs),
        tuple(first.recorded),
        next((account.window.unit for account in first.account), "run"),
        first.steps.times,
        first.steps.light_slowdown,
        is_quickest=first.steps.quickest,
    )


def _found(runs: Sequence[_RunOfReport]) -> list[FoundPlace]:
    """The findings, each once: as ranks of a job have most of them in common."""
    places: dict[tuple[Hashable, int], FoundPlace] = {}
    for run in runs:
        seen = Counter[Hashable]()
        here = (f for f in run.findings if f.in_window)
        for place in dict.fromkeys(
            FoundPlace.of(f, f.severity, f.count, f.cost_share) for f in here
        ):
            said = without_numbers(place.message)
            key = (place.code, place.severity, place.where, place.function, said)
            seen[key] += 1
            places.setdefault((key, seen[key]), place)
    return list(places.values())
