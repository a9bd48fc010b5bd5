"""Streams and events, and which are current.

Source: torch/cuda/streams.py, c10/cuda/CUDAStream.h.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..storage import storage_of
from . import activity, clock
from .modelled_device import host_call, host_wait, log_work
from .state import current_stream, device_index, devices, here

if TYPE_CHECKING:
    from .modelled_device import ModelledDevice

_EVENT_CALL_NS = 1_000  # cudaEventRecord, cudaStreamWaitEvent


class Stream:
    """A queue of work of one device, done in order.

    Args:
        device: whose; the current one by default.
        priority: kept, and without effect on the model.
    """

    device_index: int
    number: int

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        owner = devices[device_index(device)]
        self._set(owner, owner.next_stream_number(), priority)

    @classmethod
    def _make(cls, owner: ModelledDevice, number: int, priority: int) -> Stream:
        self = object.__new__(cls)
        self._set(owner, number, priority)
        return self

    def _set(self, owner: ModelledDevice, number: int, priority: int) -> None:
        self._owner, self.device_index, self.number = owner, owner.index, number
        self.priority = priority
        self.ready_ns = 0  # modelled time at which all its work is done
        self.capture: Any = None  # the graph that takes up its work
        owner.streams.append(self)

    @property
    def device(self) -> Any:
        """`cuda:0`, as torch.device."""
        from ..device import Device

        return Device("cuda", self.device_index)

    @property
    def owner(self) -> ModelledDevice:
        """The modelled device."""
        return self._owner

    cuda_stream = stream_id = property(lambda self: self.number)

    def query(self) -> bool:
        """Whether all its work is done."""
        return self.ready_ns <= clock.now_ns()

    def synchronize(self) -> None:
        """The host waits until all its work is done."""
        refuse_in_capture(self, "synchronize")
        host_wait("cudaStreamSynchronize", self.ready_ns, "Stream Sync", self)

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happens when what is on the stream by now is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What comes to the stream from now on waits for the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """What comes from now on waits for what is on `stream` by now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> tuple[int, int]:
        return self.device_index, self.number

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.number:#x}>"


class ExternalStream(Stream):
    """There are no streams from outside."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        raise NotImplementedError("a modelled device has no streams of other libraries")


class Event:
    """A point on a stream.

    Args:
        enable_timing: whether `elapsed_time` may be asked.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess:
            raise NotImplementedError("a modelled device belongs to one process")
        self.enable_timing = enable_timing
        self._stream: Stream | None = None
        self._time_ns = 0
        self._correlation = 0
        self._capture: Any = None  # the graph that took its stream's work up when it was recorded

    def record(self, stream: Stream | None = None) -> None:
        """It happens when what is on the stream (the current one by default) by now is done."""
        stream = current_stream(here.device) if stream is None else stream
        self._correlation = host_call("cudaEventRecord", _EVENT_CALL_NS)
        self._stream, self._capture = stream, stream.capture
        # A stream with nothing to do has come this far when the host has.
        self._time_ns = max(stream.ready_ns, clock.now_ns())

    def wait(self, stream: Stream | None = None) -> None:
        """What comes to the stream from now on waits for it; an event not recorded is no wait."""
        stream = current_stream(here.device) if stream is None else stream
        correlation = host_call("cudaStreamWaitEvent", _EVENT_CALL_NS)
        if self._stream is None:
            return
        if self._capture is not stream.capture:
            _join(self._capture, stream)
        if activity.logs:
            log_work(
                "cuda_sync",
                "Stream Wait Event",
                (clock.now_ns(), clock.now_ns()),
                stream,
                correlation,
                args={
                    "cuda_sync_kind": "Stream Wait Event",
                    "wait_on_stream": self._stream.number,
                    "wait_on_device": self._stream.device_index,
                    "wait_on_cuda_event_record_corr_id": self._correlation,
                    "wait_on_cuda_event_id": id(self) & 0xFFFF,
                },
            )
        stream.ready_ns = max(stream.ready_ns, self._time_ns)

    def query(self) -> bool:
        """Whether it has happened."""
        return self._stream is None or self._time_ns <= clock.now_ns()

    def synchronize(self) -> None:
        """The host waits for it."""
        if self._stream is not None:
            host_wait(
                "cudaEventSynchronize",
                self._time_ns,
                "Event Sync",
                self._stream,
                wait_on_cuda_event_record_corr_id=self._correlation,
            )

    def elapsed_time(self, end_event: Event) -> float:
        """Modelled milliseconds from this event to `end_event`.

        Raises:
            ValueError: one of them keeps no time.
            RuntimeError: one was not recorded, or has not happened yet.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        for event in (self, end_event):
            if event._stream is None:
                raise RuntimeError("Both events must be recorded before calculating elapsed time.")
            if not event.query():
                raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return (end_event._time_ns - self._time_ns) / 1e6

    def __repr__(self) -> str:
        state = "uninitialized" if self._stream is None else f"cuda:{self._stream.device_index}"
        return f"<torch.cuda.Event {state}>"


class StreamContext(AbstractContextManager[Any]):
    """`with torch.cuda.stream(s):` work goes to `s`, and its device is the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[tuple[int, dict[int, Stream] | None]] = []

    def __enter__(self) -> StreamContext:
        self._before.append((here.device, here.streams))
        if self.stream is not None:
            here.device = self.stream.device_index
            here.streams = {**(here.streams or {}), self.stream.device_index: self.stream}
        return self

    def __exit__(self, *exc: object) -> None:
        here.device, here.streams = self._before.pop()


def record_stream(tensor: Any, stream: Stream) -> None:
    """The tensor's memory is used on `stream` too: given back, it is free when that is done."""
    storage = storage_of(tensor)
    if storage is not None:
        devices[storage.device].allocator.record_stream(storage.block, stream)


def synchronize(device: Any = None) -> None:
    """Wait until all streams of a device (the current one by default) have done their work.

    Raises:
        RuntimeError: there is no such device.
    """
    owner = devices[device_index(device)]
    for each in owner.streams:
        refuse_in_capture(each, "synchronize")
    stream = owner.default_stream
    host_wait("cudaDeviceSynchronize", owner.idle_ns, "Context Sync", stream)


def _join(graph: Any, stream: Stream) -> None:
    """A stream waits for one that is being captured, and so is captured too.

    Raises:
        RuntimeError: it is the default stream, or a captured one is to wait for one that is not.
    """
    if graph is None or stream.capture is not None:
        raise RuntimeError("CUDA error: dependency created on uncaptured work in another stream")
    if not graph.takes_up:
        return
    if stream is stream.owner.default_stream:
        raise RuntimeError(
            "CUDA error: operation would make the legacy stream depend on a capturing blocking "
            "stream (leaves that were first used on the default stream have their gradients there)"
        )
    graph.join(stream)


def refuse_in_capture(stream: Stream, name: str) -> None:
    """Nothing can wait for work that does not run.

    Raises:
        RuntimeError: the stream is being captured.
    """
    if stream.capture is not None:
        raise RuntimeError(
            f"CUDA error: operation not permitted when stream is capturing ({name} has to wait for"
            " the device)"
        )
