"""The user's functions that worker processes of a loader spend their processor time in.

`tidy run` samples them and writes, beside what else the header says of the workers of a loader
(loader_workers.py), where they were seen:

    "sampled_ns": 812000000, "sampled_batches": 38,
    "functions": [{"file": "data.py", "function": "pad", "first_line": 9, "line": 13,
                   "ns": 790000000, "line_ns": 700000000, "calls": 1, "runs": 960}, ...]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_SAMPLED = "sampled_ns", "sampled_batches"
_TEXTS, _NUMBERS = ("file", "function"), ("first_line", "line", "ns", "line_ns", "calls", "runs")


class WorkerFunction(NamedTuple):
    """A function, with what it calls.

    Attributes:
        first_line, line: where it begins, and its costliest line.
        ns, line_ns: the processor time of both in all batches that were sampled.
        calls, runs: how often it is called and how often the line runs in a batch, up to some
            thousand times; 0 where it was not measured, and the line then may be a later one.
    """

    file: str
    function: str
    first_line: int
    line: int
    ns: int
    line_ns: int
    calls: int
    runs: int


class WorkerFunctions(NamedTuple):
    """What was seen of the workers of one loader.

    Attributes:
        sampled_ns: the processor time of all batches that were sampled.
        batch_count: how many these are.
        functions: those that take most of it. Of two that take the same the inner one comes first.
    """

    sampled_ns: int
    batch_count: int
    functions: tuple[WorkerFunction, ...]

    def header(self) -> dict[str, Any]:
        """Return what stands in the header of the trace."""
        sampled = dict(zip(_SAMPLED, self[:2], strict=True))
        return {**sampled, "functions": [each._asdict() for each in self.functions]}


def functions_of(entry: Mapping[str, Any]) -> WorkerFunctions:
    """Return what the header says of a loader; no functions where it says nothing of them."""
    sampled_ns, batch_count = (_count(entry.get(key)) for key in _SAMPLED)
    said = entry.get("functions")
    if not sampled_ns or not batch_count or not isinstance(said, list):
        return WorkerFunctions(0, 0, ())
    return WorkerFunctions(sampled_ns, batch_count, tuple(_whole(said)))


def _whole(said: Iterable[Any]) -> Iterable[WorkerFunction]:
    for each in said:
        if not isinstance(each, Mapping) or any(type(each.get(key)) is not str for key in _TEXTS):
            continue
        texts, numbers = (each[key] for key in _TEXTS), (_count(each.get(key)) for key in _NUMBERS)
        found = WorkerFunction(*texts, *numbers)
        if found.first_line and found.line and found.ns:
            yield found


def together(parts: Iterable[WorkerFunctions]) -> WorkerFunctions:
    """Return the same of several loaders, or workers."""
    parts = list(parts)
    by_function: dict[tuple[str, str, int], list[WorkerFunction]] = {}
    for part in parts:
        for each in part.functions:
            by_function.setdefault(each[:3], []).append(each)
    functions = []
    for same in by_function.values():
        # The line is that of the worker that measured, where one did.
        best = max(same, key=lambda each: (each.runs > 0, each.ns))
        ns = sum(each.ns for each in same)
        functions.append(best._replace(ns=ns, line_ns=round(best.line_ns / best.ns * ns)))
    sampled_ns = sum(part.sampled_ns for part in parts)
    return WorkerFunctions(sampled_ns, sum(part.batch_count for part in parts), tuple(functions))


def _count(value: object) -> int:
    return value if type(value) is int and 0 < value < 2**62 else 0
