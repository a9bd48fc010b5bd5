"""One rank's events as the text of a trace, as Kineto lays it out.

Texts of ranks and steps differ in numbers alone, so a step becomes one text with places for numbers
and with what they are worked out from: times of points and work, and counters that grow by step.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layout import Group, Layout
from .step import BACKWARD, Collective, HostEvent, Step

BASE_NS = 1_790_857_026_000_000_000  # a multiple of 7889238 s, as Kineto takes one
EPOCH_NS = 4_458_676_000_000_000  # from the base to the start of the job
FIRST_STEP = 10  # the number of the first recorded step
FIRST_SEQ = 240  # the first recorded collective of each group has the next number
_FIRST_CORRELATION = 20_000
_MARK = "\x01"
_PLACE = re.compile(r'"\\u0001(\w+)"')

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RankTimes:
    """What one rank's clock showed, of each step in a list: points, starts and ends of work."""

    host: list[Ints]
    starts: list[Ints]
    ends: list[Ints]


@dataclass(frozen=True)
class _Spans:
    """Which times each written event has: numbers of points, or beyond them of work."""

    starts: Ints
    ends: Ints  # -1 for flow events
    at: Ints  # where in the values its times stand
    counters: Ints  # where counters stand
    first: Ints  # their values in the first step
    more: Ints  # and by how much they grow


class StepText:
    """The text of a step of one kind of rank.

    Args:
        stage: its stage of the pipeline.
        extra: whether it does the additional work.
        longer: how much longer its samples are.
    """

    def __init__(
        self, step: Step, layout: Layout, *, stage: int, extra: bool, longer: float
    ) -> None:
        self._step, self._layout, self._longer = step, layout, longer
        self._extra, self._stage = extra, stage
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._at: list[int] = []
        self._counters: list[tuple[int, int, int]] = []
        self._places = 0
        self._write()
        self.text = ",\n".join(self._pieces)
        columns = (self._starts, self._ends, self._at, *zip(*self._counters, strict=True))
        self.spans = _Spans(*(np.array(column, np.int64) for column in columns))

    def of_rank(self, rank: int) -> str:
        """Return the text with the device and the groups of a rank in it."""
        text = self.text.replace("@device@", str(rank % self._layout.node_size))
        text = text.replace("@pid@", str(pid_of(rank)))
        text = text.replace("@backward@", str(pid_of(rank) + 900))
        for group in self._layout.groups_of(rank):
            for what, value in _of_group(group, rank).items():
                text = text.replace(f"@{group.kind} {what}@", value)
        return text

    def values(self, times: RankTimes, step: int, later: int = 0) -> tuple[int, ...]:
        """Return the numbers of one step of those in `times`, which begin `later` steps later."""
        spans = self.spans
        at = np.concatenate([times.host[step], times.starts[step]])
        ends = np.concatenate([times.host[step], times.ends[step]])
        values = np.empty(self._places, np.int64)
        start, is_span = at[spans.starts], spans.ends >= 0
        values[spans.at], values[spans.at + 1] = start // 1000, start % 1000
        took = (ends[spans.ends] - start)[is_span]
        where = spans.at[is_span]
        values[where + 2], values[where + 3] = took // 1000, took % 1000
        values[spans.counters] = spans.first + (step + later) * spans.more
        return tuple(values.tolist())

    def _events(self) -> list[HostEvent]:
        return [
            event
            for event in self._step.events()
            if (self._extra or not event.is_extra) and event.stage in (None, self._stage)
        ]

    def _write(self) -> None:
        """Write host events, the work, and the flow events between them."""
        step, events = self._step, self._events()
        points = {(id(p.event), p.is_end): n for n, p in enumerate(step.points)}
        work_numbers = {id(work): len(step.points) + n for n, work in enumerate(step.work())}
        parents = step.parents()
        ids = {id(e): n for n, e in enumerate((e for e in events if not e.is_call), start=1)}
        calls = [event for event in events if event.is_call]
        correlations = {id(e): _FIRST_CORRELATION + n for n, e in enumerate(calls)}
        sequences = [_sequence(event) for event in events]
        self._sequences = max(sequences, default=0) + 1
        self._batches = max(event.batch for event in events) + 1
        seqs = self._seqs_of(events)
        for event in events:
            correlation = f"{_MARK}{correlations.get(id(event))}_{len(calls)}"
            span = points[id(event), False], points[id(event), True]
            thread = "@backward@" if event.thread == BACKWARD else "@pid@"
            args: dict[str, Any] = {}
            owner = event
            while owner.is_call and (outer := parents[owner]) is not None:
                owner = outer
            external = f"{_MARK}{ids[id(owner)]}_{len(ids)}"
            args["External id"] = external
            if event.is_call:
                args.update(event.args)
                args["correlation"] = correlation
            else:
                args["Ev Idx"] = f"{_MARK}{ids[id(event)] - 1}_{len(ids)}"
                args.update(self._args(event))
                if event.communicates is not None:
                    args.update(self._comms(event.communicates, seqs))
            name = event.name
            if name.startswith("ProfilerStep#"):
                name = f"ProfilerStep#{_MARK}{FIRST_STEP}_1"
            self._event(event.kind, name, "@pid@", thread, span, args)
            for work in event.work:
                both = (work_numbers[id(work)],) * 2
                args = {"External id": external, "queued": 0, "device": "@device@", "context": 1}
                args |= {"stream": work.stream, "correlation": correlation, **work.args}
                if work.kind != "kernel":
                    args.pop("queued")
                if work.collective is not None:
                    args |= _shared(self._comms(work.collective, seqs))
                self._event(work.kind, work.name, "@device@", str(work.stream), both, args)
                flow = correlations[id(event)], len(calls)
                self._flow("s", "ac2g", "@pid@", thread, span[0], flow)
                self._flow("f", "ac2g", "@device@", str(work.stream), both[0], flow)
        self._gradients(events, points)

    def _seqs_of(self, events: list[HostEvent]) -> dict[int, tuple[int, int]]:
        """The number of each collective in its group in the first step, and how many a step has."""
        kernels = [work.collective for event in events for work in event.work if work.collective]
        a_step = Counter(what.group for what in kernels)
        result, seen = dict[int, tuple[int, int]](), Counter[str]()
        for what in kernels:
            seen[what.group] += 1
            result[id(what)] = FIRST_SEQ + seen[what.group], a_step[what.group]
        return result

    def _args(self, event: HostEvent) -> dict[str, Any]:
        args = dict(event.args)
        if (number := _sequence(event)) >= 0:
            number += event.batch * self._sequences
            args["Sequence number"] = f"{_MARK}{number}_{self._sequences * self._batches}"
        if "Input Dims" in args and self._longer != 1.0:
            args["Input Dims"] = self._lengthened(args["Input Dims"])
        return args

    def _lengthened(self, dims: Any) -> Any:
        if isinstance(dims, list):
            return [self._lengthened(each) for each in dims]
        return round(dims * self._longer) if dims in self._step.lengths else dims

    def _comms(self, what: Collective, seqs: dict[int, tuple[int, int]]) -> dict[str, Any]:
        nelems = round(what.nelems * (self._longer if what.group != "data" else 1))
        first, more = seqs[id(what)]
        ends = {}
        if what.hop:
            peer = "next" if (what.hop > 0) == (what.operation == "send") else "previous"
            own, other = ("Src Rank", "Dst Rank")[:: 1 if what.operation == "send" else -1]
            ends = {own: "@pipeline rank@", other: f"@pipeline {peer} rank@"}
        return {
            **ends,
            "Collective name": what.operation,
            "In msg nelems": nelems,
            "Out msg nelems": nelems,
            "Group size": f"@{what.group} size@",
            "dtype": what.dtype,
            "In split size": "[]",
            "Out split size": "[]",
            "Global rank start": f"@{what.group} start@",
            "Global rank stride": f"@{what.group} stride@",
            "Process Group Name": f"@{what.group} name@",
            "Process Group Description": f"@{what.group} description@",
            "Process Group Ranks": f"@{what.group} ranks@",
            "Seq": f"{_MARK}{first}_{more}",
            "Is asynchronized op": 1,
        }

    def _gradients(self, events: list[HostEvent], points: dict[tuple[int, bool], int]) -> None:
        """Flow events from operators to their backward."""
        forward = dict[tuple[int, int], HostEvent]()
        for event in events:
            number = _sequence(event)
            if number >= 0 and event.thread != BACKWARD:
                forward[event.batch, number] = event
        seen, count = set[tuple[int, int]](), len(forward)
        for event in events:
            key = event.batch, _sequence(event)
            is_backward = event.thread == BACKWARD and "evaluate_function" not in event.name
            if is_backward and key in forward and key not in seen:
                seen.add(key)
                flow = len(seen), count
                start = points[id(forward[key]), False]
                self._flow("s", "fwdbwd", "@pid@", "@pid@", start, flow)
                to = points[id(event), False]
                self._flow("f", "fwdbwd", "@pid@", "@backward@", to, flow)

    def _event(
        self, kind: str, name: str, pid: str, tid: str, span: tuple[int, int], args: dict[str, Any]
    ) -> None:
        head = json.dumps({"ph": "X", "cat": kind, "name": name})[:-1]
        self._counted(head.replace("%", "%%"))
        self._starts.append(span[0])
        self._ends.append(span[1])
        self._at.append(self._places)
        self._places += 4
        self._pieces[-1] += f', "pid": {pid}, "tid": {tid}, "ts": %d.%03d, "dur": %d.%03d'
        text = json.dumps(args).replace("%", "%%")
        text = re.sub(
            r'"(@(?:device|\w+ (?:size|start|stride|(?:next |previous )?rank))@)"', r"\1", text
        )
        self._counted(f', "args": {text}}}', more=True)

    def _flow(
        self, phase: str, name: str, pid: str, tid: str, at: int, flow: tuple[int, int]
    ) -> None:
        self._counted(f'{{"ph": "{phase}", "id": "\\u0001{flow[0]}_{flow[1]}"')
        self._starts.append(at)
        self._ends.append(-1)
        self._at.append(self._places)
        self._places += 2
        ends = ', "bp": "e"' if phase == "f" else ""
        self._pieces[-1] += f', "pid": {pid}, "tid": {tid}, "ts": %d.%03d'
        self._pieces[-1] += f', "cat": "{name}", "name": "{name}"{ends}}}'

    def _counted(self, text: str, *, more: bool = False) -> None:
        """Add a text whose counters become places for numbers."""

        def place(match: re.Match[str]) -> str:
            first, grows = match[1].split("_")
            self._counters.append((self._places, int(first), int(grows)))
            self._places += 1
            return "%d"

        text = _PLACE.sub(place, text)
        # The number of a step stands within a name.
        text = re.sub(r"\\u0001(\w+)", place, text)
        if more:
            self._pieces[-1] += text
        else:
            self._pieces.append(text)


def pid_of(rank: int) -> int:
    """The process of a rank, which is the name of its main thread too."""
    return 4_000 + 13 * rank


def _shared(args: dict[str, Any]) -> dict[str, Any]:
    """Return what Kineto copies from `record_param_comms` to the kernel."""
    left_out = ("Global rank start", "Global rank stride", "Is asynchronized op")
    return {key: value for key, value in args.items() if key not in left_out}


def _sequence(event: HostEvent) -> int:
    return int(event.args.get("Sequence number", -1))


def _of_group(group: Group, rank: int) -> dict[str, str]:
    """What stands in the args of its collectives, and beside the rank in a pipeline."""
    stride = group.ranks[1] - group.ranks[0] if len(group.ranks) > 1 else 1
    at = group.ranks.index(rank)
    return {
        "self": str(at),
        "next": str(at + 1),
        "previous": str(at - 1),
        "rank": str(rank),
        "next rank": str(rank + stride),
        "previous rank": str(rank - stride),
        "size": str(len(group.ranks)),
        "start": str(group.ranks[0]),
        "stride": str(stride),
        "name": group.name,
        "description": group.description,
        "ranks": group.ranks_text,
    }


def header(
    rank: int, layout: Layout, devices: list[dict[str, Any]], backend: str = "nccl"
) -> dict[str, Any]:
    """Return what stands before the events."""
    groups = layout.groups_of(rank)
    config = [
        {
            "pg_name": group.name,
            "pg_desc": group.description,
            "backend_config": f"cuda:{backend}",
            "pg_size": len(group.ranks),
            "ranks": list(group.ranks),
        }
        for group in groups
    ]
    count = min(layout.node_size, layout.world)
    return {
        "schemaVersion": 1,
        "deviceProperties": [{**devices[0], "id": number} for number in range(count)],
        "cuda_runtime_version": 12040,
        "cuda_driver_version": 12040,
        "distributedInfo": {
            "backend": backend,
            "rank": rank,
            "world_size": layout.world,
            "pg_count": len(groups),
            "pg_config": config,
            "nccl_version": "2.21.5",
        },
        "record_shapes": 1,
        "host_name": layout.host(rank),
        "traceName": f"rank-{rank:04d}.json",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
    }


def names(rank: int, layout: Layout, start: int, end: int, streams: Iterable[int]) -> list[str]:
    """Return the events that name processes and threads, and the one of the whole recording."""
    pid, device = pid_of(rank), rank % layout.node_size
    ts = f'"ts": {start // 1000}.{start % 1000:03d}'

    def named(what: str, of: int, tid: int, **args: Any) -> str:
        return (
            f'{{"name": "{what}", "ph": "M", {ts}, "pid": {of}, "tid": {tid}, '
            f'"args": {json.dumps(args)}}}'
        )

    took = end - start
    return [
        named("process_name", pid, 0, name="python3"),
        named("process_labels", pid, 0, labels="CPU"),
        named("process_sort_index", pid, 0, sort_index=pid),
        named("process_name", device, 0, name="python3"),
        named("process_labels", device, 0, labels=f"GPU {device}"),
        named("thread_name", pid, pid, name=f"thread {pid} (python3)"),
        named("thread_name", pid, pid + 900, name=f"thread {pid + 900} (pt_autograd_0)"),
        *(named("thread_name", device, s, name=f"stream {s}") for s in streams),
        f'{{"ph": "X", "cat": "Trace", {ts}, "dur": {took // 1000}.{took % 1000:03d}, '
        '"pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", '
        '"args": {"Op count": 0}}',
    ]
