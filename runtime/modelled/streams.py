"""Streams and events, and which device and streams are current in a thread.

Source: torch/cuda/streams.py, c10/cuda/CUDAStream.h, c10/cuda/CUDAFunctions.h.
"""

from __future__ import annotations

import threading
from typing import Any

from ..core.device import Device
from ..engine.hooks import check
from . import clock
from .activity import host_call, host_wait, log_work, logs
from .modelled_device import devices, no_such_device
from .stream_timelines import DEFAULT_STREAM, StreamTimeline

_EVENT_CALL_NS = 1_000  # cudaEventRecord, cudaStreamWaitEvent


class _Here(threading.local):
    """What is current in this thread."""

    device = 0
    streams: dict[int, Stream] | None = None  # by device; where none is given, the default stream


here = _Here()
default_streams: list[Stream] = []  # by device


def device_index(device: Any = None) -> int:
    """Return the number of `device`: a number, `cuda`, `cuda:1`, a torch.device; None is current.

    Raises:
        RuntimeError: there is no such device.
        ValueError: it names no CUDA device at all.
    """
    if device is None:
        index = here.device
    elif isinstance(device, int) and not isinstance(device, bool):
        index = here.device if device < 0 else device
    else:
        kind, _, number = str(device).partition(":")
        if kind != "cuda" or (number and not number.isdigit()):
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = int(number) if number else here.device
    if not 0 <= index < len(devices):
        raise RuntimeError(no_such_device(f"cuda:{index}"))
    return index


def current_stream(index: int) -> Stream:
    """Return the stream that this thread's work for device number `index` goes to."""
    streams = here.streams
    if streams is not None and (chosen := streams.get(index)) is not None:
        return chosen
    return default_streams[index]


def start_streams() -> None:
    """Give each configured device its default stream, and have those be current."""
    here.device, here.streams = 0, None
    default_streams[:] = [Stream(device.index, number=DEFAULT_STREAM) for device in devices]


class Stream(StreamTimeline):
    """A queue of work of one device, done in order; `priority` has no effect on the model."""

    def __init__(
        self, device: Any = None, priority: int = 0, *, number: int | None = None, **_: Any
    ) -> None:
        self.owner = owner = devices[device_index(device)]
        self.number = owner.next_stream_number() if number is None else number
        self.device_index, self.priority, self.ready_ns = owner.index, priority, 0
        owner.streams.append(self)

    @property
    def device(self) -> Any:
        """`cuda:0`, as torch.device."""
        return Device("cuda", self.device_index)

    cuda_stream = stream_id = property(lambda self: self.number)

    def query(self) -> bool:
        """Tell whether all its work is done."""
        return self.ready_ns <= clock.now_ns()

    def synchronize(self) -> None:
        """Have the host wait until all its work is done."""
        host_wait("cudaStreamSynchronize", self.ready_ns, "Stream Sync", self)

    def record_event(self, event: StreamEvent | None = None) -> StreamEvent:
        """Record an event that happens when what is on the stream by now is done."""
        event = StreamEvent() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: StreamEvent) -> None:
        """Have what comes to the stream from now on wait for the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Have what comes from now on wait for what is on `stream` by now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> tuple[int, int]:
        """The numbers of its device and of itself."""
        return self.device_index, self.number

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.number:#x}>"


class StreamEvent:
    """A point on a stream: torch.cuda.Event."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        check(not interprocess, "a modelled device belongs to one process", NotImplementedError)
        self.enable_timing = enable_timing
        self._stream: Stream | None = None
        self._time_ns = 0
        self._correlation = 0

    def record(self, stream: Stream | None = None) -> None:
        """Have it happen when what is on the stream (the current one by default) by now is done."""
        stream = current_stream(here.device) if stream is None else stream
        self._correlation = host_call("cudaEventRecord", _EVENT_CALL_NS)
        self._stream = stream
        # A stream with nothing to do has come this far when the host has.
        self._time_ns = max(stream.ready_ns, clock.now_ns())

    def wait(self, stream: Stream | None = None) -> None:
        """Have what comes to the stream from now on wait for it, unless it was never recorded."""
        stream = current_stream(here.device) if stream is None else stream
        correlation = host_call("cudaStreamWaitEvent", _EVENT_CALL_NS)
        if self._stream is None:
            return
        if logs:
            now, kind = clock.now_ns(), "Stream Wait Event"
            shown = {
                "cuda_sync_kind": kind,
                "wait_on_stream": self._stream.number,
                "wait_on_device": self._stream.device_index,
                "wait_on_cuda_event_record_corr_id": self._correlation,
                "wait_on_cuda_event_id": id(self) & 0xFFFF,
            }
            log_work("cuda_sync", kind, (now, now), stream, correlation, args=shown)
        stream.ready_ns = max(stream.ready_ns, self._time_ns)

    def query(self) -> bool:
        """Tell whether it has happened."""
        return self._stream is None or self._time_ns <= clock.now_ns()

    def synchronize(self) -> None:
        """Have the host wait for it."""
        if self._stream is not None:
            shown = {"wait_on_cuda_event_record_corr_id": self._correlation}
            host_wait("cudaEventSynchronize", self._time_ns, "Event Sync", self._stream, **shown)

    def elapsed_time(self, end_event: StreamEvent) -> float:
        """Return the modelled milliseconds from this event to `end_event`, both recorded."""
        timed, both = self.enable_timing and end_event.enable_timing, "Both events must be"
        check(timed, f"{both} created with argument 'enable_timing=True'.", ValueError)
        for event in (self, end_event):
            check(event._stream is not None, f"{both} recorded before calculating elapsed time.")
            check(event.query(), f"{both} completed before calculating elapsed time.")
        return (end_event._time_ns - self._time_ns) / 1e6

    def __repr__(self) -> str:
        state = "uninitialized" if self._stream is None else f"cuda:{self._stream.device_index}"
        return f"<torch.cuda.Event {state}>"


def synchronize(device: Any = None) -> None:
    """Wait until all streams of a device (the current one by default) have done their work."""
    owner = devices[device_index(device)]
    stream = default_streams[owner.index]
    host_wait("cudaDeviceSynchronize", owner.idle_ns, "Context Sync", stream)
