"""What devices, tracks and kinds of slices are called, in the page and in Perfetto."""

from __future__ import annotations

from typing import NamedTuple

from ..trace import EventKind, Trace, printable


class SliceKind(NamedTuple):
    """A kind of slices.

    Attributes:
        text: what a person reads of it.
        colour: that of the style, `--slice-...`.
        is_work: whether a device works meanwhile.
    """

    text: str
    colour: str
    is_work: bool = False


MERGED = SliceKind("several short slices", "merged")
COLLECTIVE = SliceKind("kernel of a collective", "communication", is_work=True)
KINDS = {
    EventKind.TorchOp: SliceKind("operator", "operator"),
    EventKind.Annotation: SliceKind("range", "range"),
    EventKind.PyCall: SliceKind("Python", "python"),
    EventKind.PyCCall: SliceKind("Python (built-in)", "python"),
    EventKind.Backend: SliceKind("backend", "other"),
    EventKind.Runtime: SliceKind("call of the device's runtime", "runtime"),
    EventKind.Kernel: SliceKind("kernel", "kernel", is_work=True),
    EventKind.Memcpy: SliceKind("copy", "copy", is_work=True),
    EventKind.Memset: SliceKind("fill", "copy", is_work=True),
    EventKind.Sync: SliceKind("synchronisation", "waiting"),
    EventKind.DeviceAnnotation: SliceKind("range on the device", "range"),
    EventKind.Overhead: SliceKind("profiler's overhead", "other"),
    EventKind.Other: SliceKind("other", "other"),
}


def device_name(trace: Trace, device: int) -> str:
    """Name a device by its sort and index, such as `GPU 0`; `CPU` for -1."""
    if device < 0:
        return "CPU"
    sort = trace.devices[device].sort if device in trace.devices else "GPU"
    return f"{sort} {device}"


def track_names(trace: Trace, track_id: int, device: int) -> tuple[str, str]:
    """Name what a track is of, a process or a device, and its line: a thread or a stream.

    Args:
        device: that of the track's rows, -1 for the host.
    """
    process, line = trace.tracks[track_id]
    if device >= 0:
        return device_name(trace, device), printable(f"stream {line}")
    return printable(f"process {process}"), printable(f"thread {line}")
