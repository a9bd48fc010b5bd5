"""What a log of the devices must hold: nothing touches memory that is being written."""

from __future__ import annotations

from tidy.runtime.modelled.activity import ActivityLog, DeviceWork


def hazards(log: ActivityLog) -> list[tuple[DeviceWork, int]]:
    """Work that begins before earlier work on the same memory ended, and that memory's number.

    Reads may go on together. The log is in the order in which the host asked for the work.
    """
    written, read = dict[int, int](), dict[int, int]()
    found = []
    for work in log.work:
        for number in {*work.reads, *work.writes}:
            after = written.get(number, 0)
            if number in work.writes:
                after = max(after, read.get(number, 0))
            if work.start_ns < after:
                found.append((work, number))
        for number in work.reads:
            read[number] = max(read.get(number, 0), work.end_ns)
        for number in work.writes:
            written[number] = max(written.get(number, 0), work.end_ns)
    return found


def nccl(log: ActivityLog, name: str = "AllReduce", device: int = 0) -> list[DeviceWork]:
    """The collectives of that name on a device."""
    start = f"ncclDevKernel_{name}"
    return [w for w in log.work if w.device == device and w.name.startswith(start)]


def compute(log: ActivityLog, device: int = 0) -> list[DeviceWork]:
    """A device's kernels that are no collectives."""
    kernels = [w for w in log.work if w.device == device and w.kind == "kernel"]
    return [w for w in kernels if not w.name.startswith("nccl")]


def shared_ns(one: list[DeviceWork], other: list[DeviceWork]) -> int:
    """Time in which work of both lists runs; neither list overlaps itself."""
    return sum(
        max(0, min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)) for a in one for b in other
    )
