"""One event as it stands in the file, as a typed struct, since a dict would cost time and memory.

Keys are Kineto's (output_json.cpp, MetadataFieldCatalog.h) with the spellings of 2021 beside them.
Keys that are not named here are skipped without being decoded. Fields stand in the order of
PyTorch 2.13, since a decoder expects the next key to be the next field.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, TypeAlias

from msgspec import Meta, Raw, Struct

RENAMED_ARGS = {
    "external_id": "External id",
    "external_id_2021": "external id",
    "index": "Ev Idx",
    "index_2022": "Profiler Event Index",
    "sequence_nr": "Sequence number",
    "forward_thread": "Fwd thread id",
    "dims": "Input Dims",
    "dims_2021": "Input dims",
    "types": "Input type",
    "concrete": "Concrete Inputs",
    "strides": "Input Strides",
    "call_stack": "Call stack",
    "nbytes": "bytes",
    "memory_nbytes": "Bytes",
    "memory_device_type": "Device Type",
    "memory_device": "Device Id",
    "memory_address": "Addr",
    "memory_allocated": "Total Allocated",
    "memory_reserved": "Total Reserved",
}
_NOTHING = Raw(b"")
NO_NUMBER = float("nan")

# What fits a column of 64 bits, with room to compute in.
Large: TypeAlias = Annotated[int, Meta(ge=-(2**62), le=2**62)]


class Args(Struct, gc=False, frozen=True, rename=RENAMED_ARGS):
    """The `args` of an event that tidy reads."""

    external_id: Large = 0
    sequence_nr: Large = -1
    forward_thread: Large = 0
    concrete: Raw = _NOTHING
    types: Raw = _NOTHING
    strides: Raw = _NOTHING
    dims: Raw = _NOTHING
    index: Large = -1
    memory_nbytes: Large = 0
    memory_device: Large = -1
    memory_device_type: Large = 0
    memory_address: Large = 0
    memory_allocated: Large = -1
    memory_reserved: Large = -1
    device: Large = -1
    stream: Large = -1
    correlation: Large = 0
    nbytes: Large = 0
    external_id_2021: Large = 0
    index_2022: Large = -1
    dims_2021: Raw = _NOTHING
    call_stack: str = ""
    finished: Raw = _NOTHING  # false for what ran when the profiler stopped


NO_ARGS = Args()


class FileEvent(Struct, gc=False, frozen=True):
    """One element of `traceEvents`, times in microseconds as binary floats."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Large | str | None = None
    tid: Large | str | None = None
    ts: float = NO_NUMBER
    dur: float = 0.0
    id: Large | str | None = None
    args: Args = NO_ARGS


class ExactFileEvent(Struct, gc=False, frozen=True):
    """One element of `traceEvents`, times in microseconds as exact decimals.

    Files of spring 2024 have times of 19 digits, which a binary float cannot hold.
    """

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Large | str | None = None
    tid: Large | str | None = None
    ts: Decimal = Decimal(NO_NUMBER)
    dur: Decimal = Decimal(0)
    id: Large | str | None = None
    args: Args = NO_ARGS


class Nothing(Struct):
    """Decodes any object and keeps nothing of it; it tells whether a text is valid."""


AnyEvent: TypeAlias = FileEvent | ExactFileEvent
