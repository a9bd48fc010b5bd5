"""A second account of a device's time, from the raw JSON, by plain loops.

It shares nothing with the package: the file is unpacked and decoded by the standard library, times
are exact decimals, and a line is swept over all starts and ends. Slow, and short enough to check by
reading.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

Interval = tuple[int, int]
# Among what runs at once the first of these has the time.
COMPUTE, COMMUNICATION, COPY = range(3)
_WORK = ("kernel", "concurrent_kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset")
_RANGES = ("user_annotation", "cpu_op", "operator")
_MTIA = "mtia_ccp_events"


@dataclass(frozen=True)
class DeviceTime:
    """Nanoseconds of one device in a window."""

    window_ns: int
    busy_ns: int
    compute_ns: int
    communication_ns: int  # without any computing beside it
    copy_ns: int  # copies and fills, without computing or communication beside them
    idle_ns: int


def read_raw(path: Path) -> dict[str, Any]:
    """The decoded file; numbers with a fraction are exact."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    raw = json.loads(data.decode("utf-8", "replace"), parse_float=Decimal, strict=False)
    return raw if isinstance(raw, dict) else {"traceEvents": raw}


def device_work(raw: dict[str, Any]) -> dict[int, list[tuple[int, int, int]]]:
    """Of each device (start, end, sort of work) for each kernel, copy and fill, in nanoseconds."""
    base_ns = int(raw.get("baseTimeNanoseconds", 0))
    result = defaultdict(list)
    for event in raw["traceEvents"]:
        category = event.get("cat", "").lower()
        mtia_works = category == _MTIA and not event["name"].startswith("event_")
        if event.get("ph") != "X" or not (category in _WORK or mtia_works):
            continue
        start = base_ns + round(Decimal(event["ts"]) * 1000)
        end = start + round(Decimal(event.get("dur", 0)) * 1000)
        device = event.get("args", {}).get("device", event["pid"])
        result[int(device)].append((start, end, _sort_of(event["cat"].lower(), event["name"])))
    return dict(result)


def steps_in(raw: dict[str, Any]) -> tuple[dict[int, Interval], dict[int, Interval]]:
    """Start and end of each marked step by its number: as the host runs it, and as devices end it.

    The second is from the last end of the work launched before it to that of the work launched in
    it; but not before it begins, and not before it ends on the host. A mark of a process that ran
    nothing counts only where none ran anything.
    """
    base_ns = int(raw.get("baseTimeNanoseconds", 0))
    ran = {event["pid"] for event in raw["traceEvents"] if event.get("cat") == "cpu_op"}
    host, works, launched = dict[int, Interval](), [], dict[Any, int]()
    for event in raw["traceEvents"]:
        if event.get("ph") != "X":
            continue
        start = base_ns + round(Decimal(event["ts"]) * 1000)
        end = start + round(Decimal(event.get("dur", 0)) * 1000)
        category, args = event.get("cat", "").lower(), event.get("args", {})
        if category in _WORK:
            works.append((start, end, args.get("correlation")))
        elif event["name"].startswith("ProfilerStep#") and category in _RANGES:
            if ran and event["pid"] not in ran:
                continue
            host[int(event["name"][13:])] = start, end
        elif "runtime" in category or "driver" in category:
            launched[args.get("correlation")] = start
    devices = {}
    for number, (start, end) in host.items():
        ends = [(launched.get(each, begin), finish) for begin, finish, each in works]
        before = max([start, *(finish for at, finish in ends if at < start)])
        upto = max([end, *(finish for at, finish in ends if at < end)])
        devices[number] = before, max(upto, before)
    return host, devices


def _sort_of(category: str, name: str) -> int:
    if "memcpy" in category or "memset" in category or name == "dma_request":
        return COPY
    if name.startswith(("__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer", "MEMORY_COPY_")):
        return COPY
    return COMMUNICATION if "nccl" in name.lower() or "rccl" in name.lower() else COMPUTE


def device_time(work: Iterable[tuple[int, int, int]], window: Sequence[Interval]) -> DeviceTime:
    """What the device did in the window; its intervals may touch, and must not overlap."""
    in_window = 3
    edges = []
    for start, end, sort in [*work, *((start, end, in_window) for start, end in window)]:
        if end > start:
            edges += [(start, sort, 1), (end, sort, -1)]
    edges.sort()
    running, spent = [0, 0, 0, 0], [0, 0, 0, 0]  # the last of spent is idle
    before = edges[0][0] if edges else 0
    for time, sort, change in edges:
        if running[in_window]:
            first = next((each for each in range(3) if running[each]), 3)
            spent[first] += time - before
        before = time
        running[sort] += change
    return DeviceTime(
        window_ns=sum(spent),
        busy_ns=sum(spent[:3]),
        compute_ns=spent[COMPUTE],
        communication_ns=spent[COMMUNICATION],
        copy_ns=spent[COPY],
        idle_ns=spent[3],
    )
