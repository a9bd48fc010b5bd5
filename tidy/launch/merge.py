"""From the pieces of a recording to one trace in Kineto's format.

Numbers that start anew in each piece (External id, correlation, Ev Idx, Python id, flows) are moved
apart, times are put on one base and the pieces end to end, what ran when a piece was cut ends at
the cut, frames of the recorder are left out, and the optimizer's steps become `ProfilerStep#N`.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from .places import Places
from .recording import Json, Piece, Recording

_OURS = re.compile(r"(.*/)?tidy/launch/child/(hook/)?\w+\.py\(\d+\): .*")
_DEVICE_KEYS = (
    "tidy_modelled_device",
    "deviceProperties",
    "cuda_runtime_version",
    "cuda_driver_version",
)
# What is numbered, and by whose count: parents are counted with the frames they are among.
_NUMBERS = {
    "External id": "External id",
    "correlation": "correlation",
    "wait_on_cuda_event_record_corr_id": "correlation",
    "Ev Idx": "Ev Idx",
    "Python id": "Python id",
    "Python parent id": "Python id",
}


@dataclass
class Merged:
    """What a trace was made of.

    Attributes:
        op_count: ops in it.
        steps_ns: duration of each step after the warm-up.
        header: its keys beside the events.
    """

    op_count: int = 0
    steps_ns: list[int] = field(default_factory=list)
    pieces: int = 0
    header: Json = field(default_factory=dict)


class Merger:
    """Takes the pieces of one recording in order."""

    def __init__(self, warmup: int) -> None:
        self.merged = Merged()
        self._warmup = warmup
        self._places = Places()
        self._base_ns = 0
        self._moved: dict[str, int] = {}
        self._said: set[tuple[Any, ...]] = set()
        self._last_step_ns = 0
        self._cut_ns = 0
        self._left_out_ns = 0  # between pieces

    def add(self, piece: Piece) -> Iterator[Json]:
        """The events of the next piece as they stand in the trace."""
        base_ns = int(piece.header.get("baseTimeNanoseconds") or 0)
        merged, facts = self.merged, piece.facts
        if not merged.pieces:
            self._base_ns = base_ns
            merged.header = dict(piece.header)
        else:
            self._left_out_ns += facts["start_ns"] - self._cut_ns
        self._cut_ns = facts["cut_ns"]
        for key, value in (facts.get("header") or {}).items():
            known = merged.header.get(key)
            # What the profiler wrote itself, or an earlier piece, may say more.
            merged.header[key] = {**value, **known} if isinstance(known, dict) else value
        merged.pieces += 1
        if piece.header.get("tidy_modelled_device"):
            # Its correlations do not start anew, and a wait may name one of an earlier piece.
            self._moved["correlation"] = 0
            # The script may have set it up when the first piece was written.
            merged.header.update((key, piece.header[key]) for key in _DEVICE_KEYS)
        if facts.get("has_lines") is not False:
            self._places.add(piece, base_ns)
        cut_us = (facts["cut_ns"] - base_ns) / 1000
        moved: dict[str, int] = {}
        for event in piece.events:
            if self._is_wanted(event, cut_us):
                self._clip(event, cut_us)
                self._move(event, moved, base_ns)
                merged.op_count += event.get("cat") == "cpu_op"
                yield event
        self._moved.update(moved)
        yield from self._steps(facts)

    def _is_wanted(self, event: Json, cut_us: float) -> bool:
        if event.get("ph") == "M":
            key = tuple(map(str, (event.get("name"), event.get("pid"), event.get("tid"))))
            is_new = key not in self._said
            self._said.add(key)
            return is_new
        if event.get("cat") == "python_function":
            return not event["ts"] > cut_us and not _OURS.fullmatch(event["name"])
        return True

    @staticmethod
    def _clip(event: Json, cut_us: float) -> None:
        is_open = event.get("cat") == "python_function" or not event.get("args", {}).get(
            "finished", True
        )
        if is_open and event.get("ph") == "X" and event["ts"] + event.get("dur", 0) > cut_us:
            event["dur"] = round(max(0.0, cut_us - event["ts"]), 3)

    def _move(self, event: Json, moved: dict[str, int], base_ns: int) -> None:
        args = event.get("args")
        if args:
            for name, counted in _NUMBERS.items():
                number = args.get(name)
                # 0 is a number for Ev Idx, and none for the others.
                if isinstance(number, int) and number >= (name != "Ev Idx"):
                    args[name] = number = number + self._moved.get(counted, 0)
                    moved[counted] = max(number + 1, moved.get(counted, 0))
        if event.get("ph") in ("s", "f") and isinstance(event.get("id"), int):
            # An arrow to device work has the number of its correlation.
            counted = "correlation" if event.get("cat") == "ac2g" else "flow"
            event["id"] = number = event["id"] + self._moved.get(counted, 0)
            moved[counted] = max(number + 1, moved.get(counted, 0))
        later_ns = base_ns - self._base_ns - self._left_out_ns
        if later_ns and isinstance(event.get("ts"), (int, float)):
            event["ts"] = _number(later_ns + round(event["ts"] * 1000))

    def _steps(self, facts: Json) -> Iterator[Json]:
        """Each step reaches from the end of the one before, or from a recording begun there."""
        before_ns = self._base_ns + self._left_out_ns
        start_ns = facts["start_ns"] - before_ns
        if facts["began_at_step"] or not self._last_step_ns:
            self._last_step_ns = start_ns
        for number, moment_ns in enumerate(facts["steps_ns"], facts["steps_before"]):
            begin_ns, end_ns = self._last_step_ns, moment_ns - before_ns
            self._last_step_ns = max(end_ns, start_ns)
            if number >= self._warmup and end_ns > start_ns:
                self.merged.steps_ns.append(end_ns - begin_ns)
                yield {
                    "ph": "X",
                    "cat": "user_annotation",
                    "name": f"ProfilerStep#{number}",
                    "pid": facts["pid"],
                    "tid": facts["thread"],
                    "ts": _number(begin_ns),
                    "dur": _number(end_ns - begin_ns),
                    "args": {},
                }


def _number(nanoseconds: int) -> Any:
    """Microseconds with three decimals, exact."""
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return msgspec.Raw(f"{sign}{whole}.{rest:03d}".encode())


def write_trace(recording: Recording, warmup: int, path: Path, more: Json) -> Merged:
    """Write one trace of all whole pieces.

    Args:
        path: of the file; in gzip where it ends with .gz.
        more: keys to put beside the events; its values may be functions of what was merged.

    Raises:
        OSError: it cannot be written.
    """
    merger = Merger(warmup)
    encode = msgspec.json.Encoder().encode
    with closing(_open(path)) as file:
        file.write(b'{"traceEvents": [\n')
        comma = b""
        for piece in recording.pieces():
            for event in _chunks(merger.add(piece), encode):
                file.write(comma + event)
                comma = b",\n"
        file.write(b"\n]")
        header = merger.merged.header
        for key, value in more.items():
            header[key] = value(merger.merged) if callable(value) else value
        for key, value in header.items():
            file.write(b",\n" + encode(key) + b": " + encode(value))
        file.write(b"}\n")
    return merger.merged


def _chunks(events: Iterable[Json], encode: Any) -> Iterator[bytes]:
    """The encoded events, some at a time."""
    some: list[bytes] = []
    for event in events:
        some.append(encode(event))
        if len(some) == 1000:
            yield b",\n".join(some)
            some.clear()
    if some:
        yield b",\n".join(some)


def _open(path: Path) -> IO[bytes]:
    if path.name.endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, "wb", compresslevel=5))
    return path.open("wb")
