"""One event as it stands in the file, as a typed struct, since a dict would cost time and memory.

Keys are Kineto's (output_json.cpp, MetadataFieldCatalog.h) with the spellings of 2021 beside them.
Keys that are not named here are skipped without being decoded. Fields stand in the order of
PyTorch 2.13, since a decoder expects the next key to be the next field.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, TypeAlias

from msgspec import Meta, Raw, Struct, field

_NOTHING = Raw(b"")
NO_NUMBER = float("nan")

# What fits a column of 64 bits, with room to compute in.
Large: TypeAlias = Annotated[int, Meta(ge=-(2**62), le=2**62)]
# Runtime calls of HIP have their stream as "0x0" and their bytes as "1024".
Quoted: TypeAlias = Annotated[str, Meta(pattern=r"\A(?:[0-9]{1,18}|0x[0-9A-Fa-f]{1,15})\Z")]


class Args(Struct, gc=False, frozen=True):
    """The `args` of an event that tidy reads."""

    external_id: Large = field(name="External id", default=0)
    sequence_nr: Large = field(name="Sequence number", default=-1)
    forward_thread: Large = field(name="Fwd thread id", default=0)
    concrete: Raw = field(name="Concrete Inputs", default=_NOTHING)
    types: Raw = field(name="Input type", default=_NOTHING)
    strides: Raw = field(name="Input Strides", default=_NOTHING)
    dims: Raw = field(name="Input Dims", default=_NOTHING)
    index: Large = field(name="Ev Idx", default=-1)
    memory_nbytes: Large = field(name="Bytes", default=0)
    memory_device: Large = field(name="Device Id", default=-1)
    memory_device_type: Large = field(name="Device Type", default=0)
    memory_address: Large = field(name="Addr", default=0)
    memory_allocated: Large = field(name="Total Allocated", default=-1)
    memory_reserved: Large = field(name="Total Reserved", default=-1)
    device: Large = -1
    stream: Large | Quoted = -1
    correlation: Large = 0
    nbytes: Large | Quoted = field(name="bytes", default=0)
    external_id_2021: Large = field(name="external id", default=0)
    index_2022: Large = field(name="Profiler Event Index", default=-1)
    dims_2021: Raw = field(name="Input dims", default=_NOTHING)
    call_stack: str = field(name="Call stack", default="")
    # Of record_param_comms; not decoded, since other tools write other types.
    collective: Raw = field(name="Collective name", default=_NOTHING)
    dtype: Raw = _NOTHING
    in_elements: Raw = field(name="In msg nelems", default=_NOTHING)
    out_elements: Raw = field(name="Out msg nelems", default=_NOTHING)
    group_name: Raw = field(name="Process Group Name", default=_NOTHING)
    group_description: Raw = field(name="Process Group Description", default=_NOTHING)
    group_ranks: Raw = field(name="Process Group Ranks", default=_NOTHING)
    group_size: Raw = field(name="Group size", default=_NOTHING)
    seq: Raw = field(name="Seq", default=_NOTHING)


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
