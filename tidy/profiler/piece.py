"""A piece: what was captured between two moments, in the form that all else is made of.

    EventCapture --> finish --> Piece --> append_piece --> columns --> Trace
                             `-----> events_of --> file in Kineto's format

`tidy.profile` has one piece and keeps it in memory. `tidy run` has one after another: the child
process writes each to a file of its own, in MessagePack, and the parent reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..runtime.modelled import DeviceMemory, DeviceWork, RuntimeCall
from ..runtime.observe.worker_batches import WorkerBatch
from ..trace.kinds import EventKind
from .signatures import InputTexts

PYTHON_KINDS = (EventKind.PyCall, EventKind.PyCCall)


class HostEvent(msgspec.Struct, gc=False, array_like=True):
    """One event on a host thread; times are Unix times in nanoseconds.

    `call_stack` is `file(line): function` of the call, "" where it is not known. `forward_thread`
    is PyTorch's small number of the thread that made a backward's node, 0 for all else. `inputs_id`
    is an index into the piece's `inputs`, -1 for none.
    """

    kind: EventKind
    name: str
    start_ns: int
    end_ns: int
    tid: int
    sequence_nr: int = -1
    forward_thread: int = 0
    inputs_id: int = -1
    call_stack: str = ""
    module_id: int | None = None  # of `nn.Module: Linear_0`: which one it is, from 0


class Shadow(NamedTuple):
    """A range of the host as it shows on a stream: the work launched in it, and in none inside it.

    A nanosecond longer than that on both sides, as Kineto has it (`gpu_user_annotation`).
    """

    name: str
    start_ns: int
    end_ns: int
    device: int
    stream: int
    external_id: int


class DevicePart(msgspec.Struct):
    """The part of a piece that is the devices'; times are Unix times.

    `ident` of a call is the system's number of the thread here. `external_ids` has by correlation
    the External id of the operator that made the call.
    """

    calls: list[RuntimeCall] = []
    work: list[DeviceWork] = []
    external_ids: dict[int, int] = {}
    shadows: list[Shadow] = []


class Piece(msgspec.Struct):
    """All that was captured from `start_ns` to `end_ns`.

    Attributes:
        events: by start.
        external_ids: one for each event: operators and ranges are numbered by start, and a process
            counts on from one recording to the next; 0 for Python functions, which have none.
        inputs: the inputs of operators, each distinct signature once.
        memory: changes of the host's memory, by time and with -1 for the device, then of devices'.
        arrows: (index of the forward event, index of the backward one).
        forward_lines: the lines of what made nodes, by thread and sequence number; for the piece
            that comes after this one, where the nodes may run.
        header: what a trace says of the recording as a whole.
        modules: the identity of each module that was called in it, or before, by `Linear_0`.
        worker_batches: what worker processes of loaders made that was received meanwhile, by start.
    """

    events: list[HostEvent]
    external_ids: list[int]
    inputs: list[InputTexts]
    memory: list[DeviceMemory]
    arrows: list[tuple[int, int]]
    thread_names: dict[int, str]
    start_ns: int
    end_ns: int
    pid: int
    device: DevicePart
    forward_lines: dict[tuple[int, int], str] = {}
    header: dict[str, Any] = {}
    worker_batches: list[WorkerBatch] = []
    modules: dict[str, int] = {}

    @property
    def number_count(self) -> int:
        """How many numbers its events and arrows take."""
        return len(self.events) + len(self.memory)

    def packed(self) -> bytes:
        """Return the contents of a file for `read`."""
        return _encode(msgspec.structs.replace(self, forward_lines={}))

    @staticmethod
    def read(path: Path) -> Piece:
        """Return the piece in a file.

        Raises:
            OSError: it cannot be read.
            msgspec.DecodeError: it is cut short.
        """
        return _decode(path.read_bytes())


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Piece).decode
