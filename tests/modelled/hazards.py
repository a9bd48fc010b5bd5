"""Finds work on modelled devices that did not wait for other work on the same memory.

    hazards(log.work)                 records of an ActivityLog, in the order of their launch
    hazards(from_trace(document))     device events of an exported trace

A record has `start_ns`, `end_ns`, `reads` and `writes`: numbers of memory. Of two records that
touch one memory, at least one of them writing, the later launched one has to begin when the
earlier one has ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

_DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}


class Hazard(NamedTuple):
    """`later` began before `earlier` had ended; `kind` is what each does to `memory`."""

    kind: str  # "read after write", "write after write", "write after read"
    memory: int
    earlier: Any
    later: Any


def hazards(records: Iterable[Any]) -> list[Hazard]:
    """All pairs that should have been ordered and overlap, or run the wrong way round."""
    return list(_hazards(records))


def _hazards(records: Iterable[Any]) -> Iterator[Hazard]:
    writers: defaultdict[int, list[Any]] = defaultdict(list)
    readers: defaultdict[int, list[Any]] = defaultdict(list)
    for record in records:
        reads, writes = set(record.reads), set(record.writes)
        for memory in sorted(reads | writes):
            kind = "write after write" if memory in writes else "read after write"
            for earlier in writers[memory]:
                if earlier.end_ns > record.start_ns:
                    yield Hazard(kind, memory, earlier, record)
            if memory in writes:
                for earlier in readers[memory]:
                    if earlier.end_ns > record.start_ns:
                        yield Hazard("write after read", memory, earlier, record)
        for memory in reads:
            readers[memory].append(record)
        for memory in writes:
            writers[memory].append(record)


def from_trace(document: dict[str, Any]) -> list[SimpleNamespace]:
    """The device's work of a trace, in the order of its launch: correlations count up.

    Times are in whole nanoseconds, read from microseconds; `args` has "Reads" and "Writes".
    """
    found = [
        SimpleNamespace(
            name=event["name"],
            start_ns=round(event["ts"] * 1000),
            end_ns=round(event["ts"] * 1000) + round(event["dur"] * 1000),
            correlation=event["args"]["correlation"],
            reads=tuple(event["args"].get("Reads", ())),
            writes=tuple(event["args"].get("Writes", ())),
        )
        for event in document["traceEvents"]
        if event.get("cat") in _DEVICE_WORK
    ]
    return sorted(found, key=lambda record: record.correlation)
