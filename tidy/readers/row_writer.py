"""From decoded events to blocks of raw columns, one block a category."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace.kinds import ACCELERATORS, DEVICE_KINDS, KIND_OF_CATEGORY, EventKind
from ..trace.raw_columns import Column, Interner, RawColumns, Strings, Track
from .schema import AnyEvent, Args, ExactFileEvent
from .times import Clock

_MEMORY = {"[memory]": EventKind.Allocation, "[OutOfMemory]": EventKind.OutOfMemory}
_SPANS = ("trace", "iteration")  # of Kineto itself
# The autograd profiler of 2020 wrote no categories; its two "processes" tell.
_KIND_OF_LEGACY_PID = {"CPU functions": EventKind.TorchOp, "CUDA functions": EventKind.Kernel}
_ESCAPES = str.maketrans({"\n": "/n", "\t": "/t", "\f": "/f", "\b": "/b", "\r": "/r"})
_BETWEEN = b"\0"  # parts of a key; no JSON holds it
_BEGIN_END = "begin or end events (ph B, E), which no PyTorch profiler writes"


class _NumberOf(dict[Any, int]):
    """The number of each key, found when it is met first; look-ups of known keys stay in C."""

    def __init__(self, find: Callable[[Any], int], known: Mapping[Any, int] | None = None) -> None:
        super().__init__(known or {})
        self._find = find

    def __missing__(self, key: Any) -> int:
        self[key] = found = self._find(key)
        return found


class RowWriter:
    """Sorts events into columns; `lost` counts by reason what had to be left out.

    Several may number their texts by the same `strings`.
    """

    def __init__(self, lost: Counter[str], strings: Strings | None = None) -> None:
        self.raw = RawColumns(strings)
        self.lost = lost
        self.in_order: list[AnyEvent] | None = None  # set to a list, gets the event of each row
        self.event_count = 0
        self.accelerators: set[str] = set()  # those of `ACCELERATORS` that have events
        self.unknown: Counter[str] = Counter()  # categories that no PyTorch profiler writes
        self.known_count = 0  # events of a category, or a name, that PyTorch's profiler does write
        self.clock = Clock(lost)
        strings = self.raw.strings
        texts, signatures = strings.texts, strings.signatures
        # "25738" and 25738 are one thread.
        self._track_ids = _NumberOf(lambda pair: strings.tracks[Track(*map(_plain, pair))])
        # Dims, types, concrete inputs and strides as JSON; none where no inputs were recorded.
        self._signatures = _NumberOf(
            lambda key: signatures[tuple(texts[text] for text in key.split(_BETWEEN))],
            {_BETWEEN * 3: -1},
        )
        self._name_ids = _NumberOf(lambda text: strings.names[_meant(text)])
        self._stack_ids = _NumberOf(lambda text: strings.stacks[_meant(text)])
        self.flow_categories = Interner()

    def add(self, events: Sequence[AnyEvent]) -> None:
        """Append one piece of the file."""
        if events and type(events[0]) is not type(events[-1]):
            first = [isinstance(event, ExactFileEvent) for event in events].index(True)
            self.add(events[:first])
            events = events[first:]
        self.clock.look_at(events)
        complete: defaultdict[str, list[AnyEvent]] = defaultdict(list)
        other: list[AnyEvent] = []
        for event in events:
            (complete[event.cat] if event.ph == "X" else other).append(event)
        kinds: defaultdict[EventKind, list[AnyEvent]] = defaultdict(list)
        for category, group in complete.items():
            self.accelerators.update(a for a in ACCELERATORS if category.lower().startswith(a))
            for kind, same in _by_kind(category, group):
                kinds[kind] += same
                if kind == EventKind.Other and category.lower() not in _SPANS:
                    self.unknown[category] += len(same)
                else:
                    self.known_count += len(same)
        self._add_complete(kinds)
        self._add_memory([e for e in other if e.name in _MEMORY and e.ph in ("i", "I")])
        self._add_arrows([e for e in other if e.ph in ("s", "f")])
        if unpaired := sum(e.ph in ("B", "E") for e in other):
            self.lost[_BEGIN_END] += unpaired

    def _add_complete(self, kinds: Mapping[EventKind, list[AnyEvent]]) -> None:
        """Append the events of each kind: what all have at once, then what is a kind's own."""
        events = list(chain.from_iterable(kinds.values()))
        kept, starts, durations = self.clock.read(events)
        if len(kept) < len(events):
            known = set(map(id, kept))
            kinds = {kind: [e for e in group if id(e) in known] for kind, group in kinds.items()}
        if not kept:
            return
        first, identity = self.raw.row_count, self._identity(kept)
        track_ids = np.array(identity.pop("track_id"), np.int32)
        kind_column = np.repeat(np.array(list(kinds), np.uint8), [*map(len, kinds.values())])
        self._append(
            kept,
            kind=kind_column,
            start_ns=starts,
            duration_ns=durations,
            track_id=track_ids,
            **identity,
        )
        last = 0
        for kind, group in kinds.items():
            if group:
                at, last = last, last + len(group)
                args = [event.args for event in group]
                self.raw.fill(first + at, len(group), **self._own(kind, args, track_ids[at:last]))

    def _own(self, kind: EventKind, args: list[Args], track_ids: Column) -> dict[str, Any]:
        """The columns that events of this kind have beside those that all have."""
        if kind in (EventKind.TorchOp, EventKind.Annotation):
            columns = self._op_columns(args)
        elif kind == EventKind.PyCall:
            columns = {"tie": _indexes(args), **self._stack_column(args)}
        else:
            correlations = [a.correlation for a in args]
            columns = {"external_id": _external_ids(args), "correlation": correlations}
            if kind == EventKind.Runtime:
                columns |= self._stack_column(args)
        if kind in DEVICE_KINDS:
            columns |= self._device_columns(args, track_ids)
        return columns

    def _append(self, events: list[AnyEvent], **columns: Any) -> None:
        self.event_count += len(events)
        self.raw.append(len(events), **columns)
        if self.in_order is not None:
            self.in_order += events

    def _op_columns(self, args: list[Args]) -> dict[str, Any]:
        signatures, key = self._signatures, _BETWEEN.join
        forward_threads = np.array([a.forward_thread for a in args], np.int64)
        inputs_id = [
            signatures[key((a.dims or a.dims_2021, a.types, a.concrete, a.strides))] for a in args
        ]
        for number, a in enumerate(args):
            if a.collective:
                inputs_id[number] = self._collective_id(a)
        columns: dict[str, Any] = {
            "inputs_id": inputs_id,
            "tie": _indexes(args),
            "external_id": _external_ids(args),
            "sequence_nr": [a.sequence_nr for a in args],
            "forward_thread": _all_small(forward_threads, 0),
        }
        return columns | self._stack_column(args)

    def _collective_id(self, args: Args) -> int:
        """Number the inputs of a collective together with what it says of itself."""
        said = (
            args.collective, args.dtype, args.in_elements, args.out_elements, args.group_name,
            args.group_description, args.group_ranks, args.group_size, args.seq,
        )  # fmt: skip
        text = b"[%b]" % b",".join(bytes(each) or b"null" for each in said)
        parts = args.dims, args.types, args.concrete, args.strides, text
        return self._signatures[_BETWEEN.join(parts)]

    def _stack_column(self, args: list[Args]) -> dict[str, Any]:
        if not any([a.call_stack for a in args]):  # noqa: C419 - a list is faster
            return {}
        stacks = self._stack_ids
        return {"stack_id": [stacks[a.call_stack] if a.call_stack else -1 for a in args]}

    def _device_columns(self, args: list[Args], track_ids: Column) -> dict[str, Any]:
        device = np.array([a.device for a in args], np.int64)
        stream = _numbers_of([a.stream for a in args])
        if device.min() < 0 or stream.min() < 0:
            tracks = list(self.raw.strings.tracks)
            used, place = np.unique(track_ids, return_inverse=True)
            pids = np.array([_small(tracks[each].pid, 0) for each in used.tolist()])
            streams = np.array([_stream_of(tracks[each].tid) for each in used.tolist()])
            device = np.where(device >= 0, device, pids[place])
            stream = np.where(stream >= 0, stream, streams[place])
        device = _all_small(device, 0)
        nbytes = _numbers_of([a.nbytes for a in args])
        return {"device": device, "stream": stream, "nbytes": nbytes}

    def _add_memory(self, events: list[AnyEvent]) -> None:
        self.known_count += len(events)
        events, starts, durations = self.clock.read(events)
        if not events:
            return
        args = [event.args for event in events]
        first = self.raw.row_count
        self._append(
            events,
            kind=[_MEMORY[event.name] for event in events],
            start_ns=starts,
            duration_ns=durations,
            nbytes=[a.memory_nbytes for a in args],
            device=[_small(a.memory_device, -1) if a.memory_device_type else -1 for a in args],
            **self._identity(events),
        )
        self.raw.append_memory(
            np.arange(first, first + len(events)),
            address=[a.memory_address for a in args],
            allocated_nbytes=[a.memory_allocated for a in args],
            reserved_nbytes=[a.memory_reserved for a in args],
        )

    def _add_arrows(self, events: list[AnyEvent]) -> None:
        numbered = [event for event in events if isinstance(event.id, int)]
        if len(numbered) < len(events):
            self.lost["arrows whose id is no number"] += len(events) - len(numbered)
        events, starts, _ = self.clock.read(numbered)
        if events:
            categories = self.flow_categories
            self.raw.append_flows(
                flow_id=np.array([event.id for event in events], np.int64),
                category_id=[categories[event.cat] for event in events],
                is_end=[event.ph == "f" for event in events],
                is_backward=[event.cat == "fwdbwd" for event in events],
                track_id=self._identity(events)["track_id"],
                time_ns=starts,
            )

    def _identity(self, events: list[AnyEvent]) -> dict[str, Any]:
        names, tracks = self._name_ids, self._track_ids
        return {
            "name_id": [names[event.name] for event in events],
            "track_id": [tracks[event.pid, event.tid] for event in events],
        }


def _meant(text: str) -> str:
    """The text that PyTorch was to write, where it names files of Windows.

    It writes their backslashes as they are, and some read as escapes: before the name of a folder
    that begins with an n there is a line feed then.
    """
    return text.translate(_ESCAPES) if ".py(" in text else text


def _by_kind(category: str, events: list[AnyEvent]) -> Iterator[tuple[EventKind, list[AnyEvent]]]:
    """Pairs of a kind and the complete events of one category that are of this kind."""
    if category:
        yield KIND_OF_CATEGORY.get(category.lower(), EventKind.Other), events
        return
    for event in events:
        yield _KIND_OF_LEGACY_PID.get(str(event.pid), EventKind.Other), [event]


def _indexes(args: list[Args]) -> NDArray[np.int64]:
    found = np.array([a.index for a in args], np.int64)
    if found.min() < 0:
        return np.array([a.index if a.index >= 0 else a.index_2022 for a in args], np.int64)
    return found


def _external_ids(args: list[Args]) -> NDArray[np.int64]:
    found = np.array([a.external_id for a in args], np.int64)
    if not found.all():
        return np.array([a.external_id or a.external_id_2021 for a in args], np.int64)
    return found


def _numbers_of(values: list[int | str]) -> NDArray[np.int64]:
    """Return the numbers, of which some may be text; see `schema.Quoted`."""
    found = np.array(values)
    if found.dtype.kind == "i":
        return found.astype(np.int64, copy=False)
    texts = map(str, values)
    return np.array([int(each, 16 if each.startswith("0x") else 10) for each in texts], np.int64)


def _plain(identity: Any) -> int | str:
    if isinstance(identity, str):
        return int(identity) if identity.isdecimal() and len(identity) < 19 else identity
    return "" if identity is None else int(identity)


def _stream_of(tid: int | str) -> int:
    """The number of a stream whose row is 7 or "stream 7", else -1."""
    if isinstance(tid, int):
        return tid
    number = tid.rpartition(" ")[2]
    return int(number) if number.isdecimal() and len(number) < 18 else -1


def _small(value: int | str, default: int) -> int:
    """The value where it is a number that fits 32 bits, else the default."""
    return value if isinstance(value, int) and abs(value) < 1 << 31 else default


def _all_small(values: NDArray[np.int64], default: int) -> NDArray[np.int64]:
    return np.where(np.abs(values) < 1 << 31, values, default)
