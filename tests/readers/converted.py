"""One trace as an Nsight Systems export and as a file of nvprof: what emit_nvtx would have shown.

Python frames and dtypes are not in either, so traces are compared without them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidy.trace import Event, EventKind, Trace

from .sqlite_files import NsysFile, NvprofFile

_ENGINE = "autograd::engine::evaluate_function: "
_COPIES = "Unknown HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP".split()
_CUPTI_MEMORY = "Unknown Pageable Pinned Device Array Managed".split()
_NSYS_MEMORY = "Pageable Pinned Device Array Managed".split()
_CBIDS = {"cudaLaunchKernel": 211, "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51,
          "cudaStreamSynchronize": 131, "cudaDeviceSynchronize": 165, "cudaMalloc": 20}  # fmt: skip
_RANGES = (EventKind.TorchOp, EventKind.Annotation)


def write_nsys(trace: Trace, path: Path, *, stashed: bool = False) -> None:
    """The trace as an export of Nsight Systems; `stashed`: in the text form of older PyTorch."""
    threads = {track: number for number, track in enumerate(trace.tracks, 100)}
    with NsysFile(path) as file:
        for device in trace.devices.values():
            file.gpu(device.index, device.name, *(device.compute or (0, 0)))
        for event in trace.events():
            start, end = event.start_ns, event.end_ns
            if event.kind in _RANGES:
                file.range(text_of(event, stashed), start, end, tid=threads[event.track])
            elif event.kind == EventKind.Runtime:
                name = f"{event.name}_v7000" if event.name.startswith("cuda") else event.name
                file.call(name, start, end, event.correlation, tid=threads[event.track])
            elif event.kind == EventKind.Kernel:
                file.kernel(event.name, start, end, event.correlation, **_place(event))
            elif event.kind == EventKind.Memcpy:
                kinds = _memcpy_kinds(event.name, _NSYS_MEMORY)
                file.work("MEMCPY", start, end, event.correlation, **kinds, **_place(event, True))
            elif event.kind == EventKind.Memset:
                kind = _NSYS_MEMORY.index(event.name[8:-1])
                place = _place(event, True)
                file.work("MEMSET", start, end, event.correlation, memKind=kind, **place)


def write_nvprof(trace: Trace, path: Path) -> None:
    """The trace as a file of nvprof; all calls must be among the few known here."""
    threads = {track: number for number, track in enumerate(trace.tracks, 100)}
    with NvprofFile(path) as file:
        for event in trace.events():
            start, end = event.start_ns, event.end_ns
            if event.kind in _RANGES:
                file.range(text_of(event, False), start, end, tid=threads[event.track])
            elif event.kind == EventKind.Runtime:
                cbid = _CBIDS[event.name]
                file.call(cbid, start, end, event.correlation, tid=threads[event.track])
            elif event.kind == EventKind.Kernel:
                file.kernel(event.name, start, end, event.correlation, **_place(event))
            elif event.kind == EventKind.Memcpy:
                kinds = _memcpy_kinds(event.name, _CUPTI_MEMORY)
                file.work("MEMCPY", start, end, event.correlation, **kinds, **_place(event, True))
            elif event.kind == EventKind.Memset:
                kind = _CUPTI_MEMORY.index(event.name[8:-1])
                place = _place(event, True)
                file.work("MEMSET", start, end, event.correlation, memoryKind=kind, **place)


def text_of(event: Event, stashed: bool) -> str:
    """The text emit_nvtx gives to the range of an event."""
    text = event.name
    if event.kind == EventKind.Annotation:
        return text
    backward = int(event.trace.forward_thread[event.row]) > 0
    if event.sequence_nr >= 0 and not text.startswith(_ENGINE):
        text += f", {'stashed ' if stashed and backward else ''}seq = {event.sequence_nr}"
    if not stashed:
        text += f", op_id = {event.row + 1}"
    if event.input_shapes:
        sizes = [size for shape in event.input_shapes for size in _flat(shape)]
        text += f", sizes = {json.dumps(sizes)}"
    return text


def _flat(shape: Any) -> list[Any]:
    is_list = shape and isinstance(shape[0], tuple)
    return [list(size) for size in shape] if is_list else [list(shape)]


def _place(event: Event, sized: bool = False) -> dict[str, int]:
    place = {"deviceId": event.device, "streamId": event.stream}
    return {**place, "bytes": event.nbytes} if sized else place


def _memcpy_kinds(name: str, memory: list[str]) -> dict[str, int]:
    _, kind, source, _, target = name.replace("(", "").replace(")", "").split()
    return {
        "copyKind": _COPIES.index(kind),
        "srcKind": memory.index(source),
        "dstKind": memory.index(target),
    }


def described(trace: Trace) -> list[tuple[Any, ...]]:
    """What a trace says of each range and what it caused, in an order of its own."""
    found = [
        (
            (event.start_ns, -event.duration_ns, event.name),
            event.kind,
            _named(event.parent),
            _named(event.forward),
            event.sequence_nr,
            event.input_shapes,
            [_named(call) for call in event.runtime_calls],
            [(*_work(work), _named(work.parent)) for work in event.kernels],
        )
        for event in trace.of_kind(*_RANGES)
    ]
    return sorted(found, key=lambda row: row[0])


def _named(event: Event | None) -> tuple[str, int] | None:
    return None if event is None else (event.name, event.start_ns)


def _work(event: Event) -> tuple[Any, ...]:
    place = event.device, event.stream, event.nbytes
    return event.name, event.kind, event.start_ns, event.duration_ns, *place
