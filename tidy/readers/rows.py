"""From decoded events to blocks of raw columns, one block a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ..trace.columns import Interner, RawColumns, Strings, Track
from ..trace.kinds import DEVICE_KINDS, KIND_OF_CATEGORY, EventKind
from .schema import AnyEvent, Args, ExactFileEvent
from .times import (
    LARGEST_US,
    LONGEST_US,
    exact_nanoseconds,
    has_unpadded_decimals,
    nanoseconds,
)

_MEMORY = {"[memory]": EventKind.Allocation, "[OutOfMemory]": EventKind.OutOfMemory}
# The autograd profiler of 2020 wrote no categories; its two "processes" tell.
_KIND_OF_LEGACY_PID = {
    "CPU functions": EventKind.TorchOp,
    "CUDA functions": EventKind.Kernel,
}


class TrackIds(dict[tuple[Any, Any], int]):
    """(pid, tid) as written -> track id; "25738" and 25738 are one thread."""

    def __init__(self, strings: Strings) -> None:
        super().__init__()
        self._tracks = strings.tracks

    def __missing__(self, written: tuple[Any, Any]) -> int:
        pid, tid = written
        self[written] = found = self._tracks[Track(_plain(pid), _plain(tid))]
        return found


def _plain(identity: Any) -> int | str:
    if isinstance(identity, str):
        return int(identity) if identity.isdecimal() and len(identity) < 19 else identity
    return "" if identity is None else int(identity)


class RowWriter:
    """Sorts events into columns; `lost` counts what had to be left out, by reason."""

    def __init__(self) -> None:
        self.raw = RawColumns()
        self.lost: Counter[str] = Counter()
        self.event_count = 0
        self._track_ids = TrackIds(self.raw.strings)
        self._flow_categories = Interner()
        self._unpadded: bool | None = None

    def add(self, events: Sequence[AnyEvent]) -> None:
        """Append one piece of the file."""
        groups: dict[tuple[str, str], list[AnyEvent]] = {}
        for event in events:
            key = (event.ph, event.cat)
            if key in groups:
                groups[key].append(event)
            else:
                groups[key] = [event]
        for (phase, category), group in groups.items():
            if phase == "X":
                self._add_complete(category, group)
            elif phase in ("i", "I"):
                self._add_memory([e for e in group if e.name in _MEMORY])
            elif phase in ("s", "f"):
                self._add_flows(category, phase == "f", group)
            elif phase in ("B", "E"):
                self.lost["begin or end events (ph B, E), which no PyTorch profiler writes"] += len(
                    group
                )

    def _add_complete(self, category: str, events: list[AnyEvent]) -> None:
        kind = KIND_OF_CATEGORY.get(category.lower())
        if kind is not None or category:
            self._add_kind(EventKind.Other if kind is None else kind, events)
            return
        by_pid: dict[EventKind, list[AnyEvent]] = {}
        for event in events:
            legacy = _KIND_OF_LEGACY_PID.get(str(event.pid), EventKind.Other)
            by_pid.setdefault(legacy, []).append(event)
        for kind, group in by_pid.items():
            self._add_kind(kind, group)

    def _add_kind(self, kind: EventKind, events: list[AnyEvent]) -> None:
        events, times = self._with_times(events)
        if not events:
            return
        args = [event.args for event in events]
        columns: dict[str, Any] = {"kind": kind, **times, **self._identity(events)}
        if kind in (EventKind.TorchOp, EventKind.Annotation):
            columns |= self._op_columns(args)
        elif kind == EventKind.PyCall:
            columns["tie"] = _indexes(args)
        else:
            columns["external_id"] = [a.external_id or a.external_id_2021 for a in args]
            columns["correlation"] = [a.correlation for a in args]
        if kind in DEVICE_KINDS:
            tracks = list(self.raw.strings.tracks)
            where = [tracks[track] for track in columns["track_id"]]
            columns["device"] = [
                _small(a.device if a.device >= 0 else w.pid, 0)
                for a, w in zip(args, where, strict=True)
            ]
            columns["stream"] = [
                a.stream if a.stream >= 0 else _stream(w.tid)
                for a, w in zip(args, where, strict=True)
            ]
            columns["nbytes"] = [a.nbytes for a in args]
        self.event_count += len(events)
        self.raw.append(len(events), **columns)

    def _op_columns(self, args: list[Args]) -> dict[str, Any]:
        texts, signatures = self.raw.strings.texts, self.raw.strings.signatures
        none = signatures[(texts[b""],) * 4]
        inputs = np.array(
            [
                signatures[
                    texts[bytes(a.dims) or bytes(a.dims_2021)],
                    texts[bytes(a.types)],
                    texts[bytes(a.concrete)],
                    texts[bytes(a.strides)],
                ]
                for a in args
            ],
            np.int32,
        )
        columns: dict[str, Any] = {
            "inputs_id": np.where(inputs == none, -1, inputs),
            "tie": _indexes(args),
            "external_id": [a.external_id or a.external_id_2021 for a in args],
            "sequence_nr": [a.sequence_nr for a in args],
            "forward_thread": [_small(a.forward_thread, 0) for a in args],
        }
        if any(a.call_stack for a in args):
            stacks = self.raw.strings.stacks
            columns["stack_id"] = [stacks[a.call_stack] if a.call_stack else -1 for a in args]
        return columns

    def _add_memory(self, events: list[AnyEvent]) -> None:
        events, times = self._with_times(events)
        if not events:
            return
        self.event_count += len(events)
        self.raw.append(
            len(events),
            kind=[_MEMORY[e.name] for e in events],
            nbytes=[e.args.memory_nbytes for e in events],
            device=[_small(e.args.memory_device, -1) if e.args.memory_device_type else -1 for e in events],
            **times,
            **self._identity(events),
        )

    def _add_flows(self, category: str, is_end: bool, events: list[AnyEvent]) -> None:
        events = [event for event in events if isinstance(event.id, int)]
        events, times = self._with_times(events)
        if events:
            self.raw.append_flows(
                flow_id=[event.id for event in events],
                category_id=np.full(len(events), self._flow_categories[category]),
                is_end=np.full(len(events), is_end),
                is_backward=np.full(len(events), category == "fwdbwd"),
                track_id=self._identity(events)["track_id"],
                time_ns=times["start_ns"],
            )

    def _identity(self, events: list[AnyEvent]) -> dict[str, Any]:
        names, tracks = self.raw.strings.names, self._track_ids
        return {
            "name_id": [names[event.name] for event in events],
            "track_id": [tracks[event.pid, event.tid] for event in events],
        }

    def _with_times(self, events: list[AnyEvent]) -> tuple[list[AnyEvent], dict[str, Any]]:
        """The events whose times can be, and those times; relative to `baseTimeNanoseconds`."""
        if not events:
            return events, {}
        starts = np.array([float(event.ts) for event in events])
        durations = np.array([float(event.dur) for event in events])
        # Some broken device events carry 0 while all others have an epoch (kineto issue #109).
        good = np.isfinite(starts) & (np.abs(starts) < LARGEST_US)
        good &= ~((starts <= 0) & (starts.max() > 1e9))
        if not good.all():
            self.lost["events without a usable time"] += int((~good).sum())
            events = [event for event, keep in zip(events, good, strict=True) if keep]
            starts, durations = starts[good], durations[good]
        odd = ~((durations >= 0) & (durations < LONGEST_US))
        if odd.any():
            self.lost["durations that are negative or endless (taken as 0)"] += int(odd.sum())
            durations = np.where(odd, 0.0, durations)
        times = {"start_ns": nanoseconds(starts), "duration_ns": nanoseconds(durations)}
        if events and isinstance(events[0], ExactFileEvent):
            times["start_ns"] = self._exact([event.ts for event in events])
            spans = self._exact([event.dur for event in events])
            times["duration_ns"] = np.where(odd, 0, spans)
        return events, times

    def _exact(self, times_us: list[Any]) -> Any:
        decimals = [Decimal(time) for time in times_us]
        if self._unpadded is None:
            self._unpadded = has_unpadded_decimals(decimals)
        return exact_nanoseconds(decimals, self._unpadded)


def _indexes(args: list[Args]) -> list[int]:
    return [a.index if a.index >= 0 else a.index_2022 for a in args]


def _stream(tid: int | str) -> int:
    if isinstance(tid, int):
        return tid
    number = tid.rpartition(" ")[2]
    return int(number) if number.isdecimal() and len(number) < 18 else -1


def _small(value: int | str, default: int) -> int:
    """A number that fits 32 bits."""
    return value if isinstance(value, int) and abs(value) < 1 << 31 else default
