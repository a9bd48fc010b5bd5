"""From a Kineto trace to the step that jobs are made of."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from .step import (
    BACKWARD,
    BYTES_OF,
    COMMUNICATION,
    COMPUTE,
    EVERY_STREAM,
    MAIN,
    Collective,
    HostEvent,
    Point,
    Step,
    Work,
)

RECORDED = Path(__file__).with_name("step.json.gz")

_HOST_KINDS = ("cpu_op", "user_annotation", "cuda_runtime")
_DEVICE_KINDS = ("kernel", "gpu_memcpy", "gpu_memset")
# What is written anew for each rank and step.
_OWN_ARGS = {
    *("External id", "external id", "Ev Idx", "correlation", "Record function id"),
    *("device", "stream", "Python id", "Python parent id", "context"),
}
_OF_COLLECTIVES = {
    *("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "Rank", "Seq"),
    *("In split size", "Out split size", "Process Group Name", "Process Group Description"),
    *("Process Group Ranks", "Global rank start", "Global rank stride"),
}
_OPERATIONS = {
    "all_reduce": "allreduce",
    "allreduce": "allreduce",
    "broadcast": "broadcast",
    "all_gather": "all_gather",
    "allgather": "all_gather",
    "all_to_all": "all_to_all",
    "reduce_scatter": "reduce_scatter",
    "reducescatter": "reduce_scatter",
}
# The stream that the host waits for; events are mostly of long ago.
_WAITS = {"cudaStreamSynchronize": COMPUTE, "cudaDeviceSynchronize": EVERY_STREAM}
_TOUCHES_NS = 10_000  # work that starts so soon after a collective on another stream waited for it
_CALL_NS = 4_000
_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_LOADER_NS = 200_000


def read_step(path: Path | None = None) -> Step:
    """Read the step of a trace whose duration is the median; by default that of the modelled A100.

    A trace without `ProfilerStep` is one step. Python functions are left out.
    """
    packed = (path or RECORDED).read_bytes()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    trace = json.loads(text, parse_float=_Number)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    for event in events:
        event["start"] = _ns(event["ts"])
        event["end"] = event["start"] + _ns(event["dur"])
    host = [e for e in events if e.get("cat") in _HOST_KINDS]
    if not any(e["cat"] == "cpu_op" for e in host):
        raise ValueError("no operators were recorded in the trace")
    steps = sorted(
        (e for e in host if e["name"].startswith("ProfilerStep")),
        key=lambda e: int(e["end"] - e["start"]),
    )
    host = [e for e in host if not e["name"].startswith("ProfilerStep")]
    if steps:
        it = steps[len(steps) // 2]
        host = [e for e in host if it["start"] <= e["start"] and e["end"] <= it["end"]]
        start, main = int(it["start"]), it["tid"]
    else:
        start = min(int(e["start"]) for e in host)
        main = Counter(e["tid"] for e in host if e["cat"] == "cpu_op").most_common(1)[0][0]
    known = _host_events(host, main)
    _launched(events, known)
    step = Step(_points(known, start), frozenset(), trace.get("deviceProperties") or [{"id": 0}])
    _move_backward(step)
    _with_loader(step)
    return Step(step.points, _lengths(step), step.devices)


class _Number(str):
    """A number as it was written, so that nanoseconds are not lost."""

    __slots__ = ()


def _ns(us: Any) -> int:
    whole, _, part = str(us).partition(".")
    return int(whole) * 1000 + int(part[:3].ljust(3, "0") or 0)


def _plain(value: Any) -> Any:
    """Return args with numbers in them."""
    if isinstance(value, _Number):
        return float(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _args(event: dict[str, Any], *without: set[str]) -> dict[str, Any]:
    left_out = _OWN_ARGS.union(*without)
    return {k: _plain(v) for k, v in event.get("args", {}).items() if k not in left_out}


def _host_events(
    host: list[dict[str, Any]], main: object
) -> list[tuple[dict[str, Any], HostEvent]]:
    """Of the main thread and of the one of backward, if there is one."""
    threads = Counter(
        e["tid"] for e in host if e["tid"] != main and "Fwd thread id" in e.get("args", {})
    )
    used = {main: MAIN, **{tid: BACKWARD for tid, _ in threads.most_common(1)}}
    result = []
    for event in sorted(host, key=lambda e: (e["start"], -e["end"])):
        if event["tid"] not in used:
            continue
        result.append(
            (
                event,
                HostEvent(
                    event["name"],
                    event["cat"],
                    _args(event, _OF_COLLECTIVES),
                    used[event["tid"]],
                    waits=_WAITS.get(event["name"]),
                ),
            )
        )
    return result


def _points(known: list[tuple[dict[str, Any], HostEvent]], start: int) -> list[Point]:
    """Order starts and ends, properly nested within each thread; waits become short."""
    whole = HostEvent("ProfilerStep#", "user_annotation")
    ends = list[tuple[int, int, int, HostEvent]]()
    open_until = defaultdict[int, list[int]](list)
    for number, (event, made) in enumerate(known):
        within = open_until[made.thread]
        while within and within[-1] <= event["start"]:
            within.pop()
        end = min(event["end"], within[-1]) if within else event["end"]
        end = max(end, event["start"] + 1)
        within.append(end)
        ends += [(event["start"], 1, number, made), (end, 0, -number, made)]
    points = [Point(1_000, whole, False)]
    before = start
    for time, is_start, _, made in sorted(ends, key=lambda each: each[:3]):
        gap = max(time - before, 0)
        if not is_start and made.is_call:
            gap = min(gap, _CALL_NS if made.waits is not None else 10 * _CALL_NS)
        points.append(Point(gap, made, not is_start))
        before = max(time, before)
    points.append(Point(2_000, whole, True))
    return points


def _launched(events: list[dict[str, Any]], known: list[tuple[dict[str, Any], HostEvent]]) -> None:
    """Give launches their work, and work the collectives that it waits for."""
    calls = {_correlation(event): made for event, made in known if made.is_call}
    device = [e for e in events if e.get("cat") in _DEVICE_KINDS]
    found = [(e, calls.get(_correlation(e))) for e in device if _correlation(e) is not None]
    found = sorted(
        ((e, made) for e, made in found if made is not None), key=lambda each: each[0]["start"]
    )
    streams = Counter(e["tid"] for e, _ in found if "nccl" not in e["name"].lower())
    order = [tid for tid, _ in streams.most_common()]
    around_calls = _around(known)
    done = list[tuple[int, Work]]()
    busy_until = 0
    for event, made in found:
        is_collective = event["cat"] == "kernel" and "nccl" in event["name"].lower()
        stream = COMMUNICATION if is_collective else COMPUTE + order.index(event["tid"])
        args = _args(event, _OF_COLLECTIVES)
        work = Work(event["name"], event["cat"], stream, event["end"] - event["start"], args)
        if is_collective:
            work.collective = _collective(event, around_calls[id(made)])
            for outer in around_calls[id(made)]:
                if outer.name == "record_param_comms":
                    outer.communicates = work.collective
            done.append((event["end"], work))
        elif stream == COMPUTE:
            work.after = [
                each
                for end, each in done
                if busy_until <= end <= event["start"] <= end + _TOUCHES_NS
            ]
            busy_until = event["end"]
        assert made is not None
        made.work.append(work)


def _correlation(event: dict[str, Any]) -> object:
    return event.get("args", {}).get("correlation")


def _around(known: list[tuple[dict[str, Any], HostEvent]]) -> dict[int, list[HostEvent]]:
    """The events around each call, the innermost first."""
    result = dict[int, list[HostEvent]]()
    open_events = defaultdict[int, list[tuple[int, HostEvent]]](list)
    for event, made in known:
        inside = open_events[made.thread]
        while inside and inside[-1][0] < event["end"]:
            inside.pop()
        result[id(made)] = [each for _, each in reversed(inside)]
        inside.append((event["end"], made))
    return result


def _collective(event: dict[str, Any], outer: list[HostEvent]) -> Collective:
    """Tell what a kernel of NCCL did from its args, or from what is around its launch."""
    args, name = event["args"], event["name"].lower()
    words = [args.get("Collective name", ""), *(each.name.partition(":")[2] for each in outer)]
    words += [op for op in _OPERATIONS if op.replace("_", "") in name.replace("_", "")]
    operation = next((_OPERATIONS[w] for w in words if w in _OPERATIONS), "all_to_all")
    nelems = args.get("In msg nelems")
    if nelems is None:
        dims = [each.args.get("Input Dims") for each in outer if each.name.startswith("nccl:")]
        nelems = 1
        for size in dims[0][0] if dims and dims[0] and dims[0][0] else []:
            nelems *= size if isinstance(size, int) else 1
    dtype = str(args.get("dtype", "Float"))
    return Collective(operation, max(int(nelems), 1), dtype if dtype in BYTES_OF else "Float")


def _move_backward(step: Step) -> None:
    """Put backward on its own thread where it was recorded on the main one."""
    if any(event.thread == BACKWARD for event in step.events()):
        return
    depth = 0
    for point in step.points:
        is_backward = point.event.name.startswith("autograd::engine::evaluate_function")
        if not point.is_end:
            depth += is_backward
            point.event.thread = BACKWARD if depth else MAIN
        else:
            depth -= is_backward
    for event in step.events():
        if event.thread == MAIN:
            event.args.pop("Fwd thread id", None)
        elif "Fwd thread id" in event.args:
            event.args["Fwd thread id"] = 1


def _with_loader(step: Step) -> None:
    if not any("DataLoader" in event.name for event in step.events()):
        loader = HostEvent(_LOADER, "user_annotation")
        step.points[1:1] = [Point(5_000, loader, False), Point(_LOADER_NS, loader, True)]


def _lengths(step: Step) -> frozenset[int]:
    """Find the sizes that follow the samples: of the first copied batch its last, and products.

    Work of forward and backward whose operator has such a size grows with it.
    """
    parents = step.parents()
    dims_of = dict[HostEvent, list[list[int]]]()
    for event in step.events():
        inputs = event.args.get("Input Dims") or []
        dims_of[event] = [each for each in inputs if each and isinstance(each[0], int)]
    copied = next(
        (
            dims_of[parent][0]
            for event in step.events()
            for work in event.work
            if "HtoD" in work.name and (parent := parents[event]) and dims_of[parent]
        ),
        [],
    )
    if len(copied) == 2:
        lengths = frozenset({copied[1], copied[0] * copied[1], copied[1] + 1})
    else:
        lengths = frozenset(copied[:1])
    for event in step.events():
        outer: HostEvent | None = event
        while outer is not None and not dims_of[outer]:
            outer = parents[outer]
        sizes = {size for dims in (dims_of[outer] if outer else []) for size in dims}
        in_optimizer = False
        at: HostEvent | None = event
        while at is not None:
            in_optimizer |= at.name.startswith("Optimizer")
            at = parents[at]
        for work in event.work:
            recorded = bool(lengths & sizes) if lengths else True
            work.grows = recorded and not in_optimizer and work.collective is None
    return lengths
