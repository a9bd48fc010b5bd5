"""One event as it stands in the file, typed so that decoding it fills no dict.

Keys are Kineto's (output_json.cpp, MetadataFieldCatalog.h) with the spellings of 2021 beside them.
Keys that are not named here are skipped without being decoded.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import encode

_RENAME = {
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
}
_NOTHING = Raw(b"")


class Args(Struct, gc=False, frozen=True, rename=_RENAME):
    """The `args` of an event that tidy reads."""

    external_id: int = 0
    external_id_2021: int = 0
    index: int = -1
    index_2022: int = -1
    sequence_nr: int = -1
    forward_thread: int = 0
    dims: Raw = _NOTHING
    dims_2021: Raw = _NOTHING
    types: Raw = _NOTHING
    concrete: Raw = _NOTHING
    strides: Raw = _NOTHING
    call_stack: str = ""
    correlation: int = 0
    device: int = -1
    stream: int = -1
    nbytes: int = 0
    memory_nbytes: int = 0
    memory_device_type: int = 0
    memory_device: int = -1


NO_ARGS = Args()


class FileEvent(Struct, gc=False, frozen=True):
    """One element of `traceEvents`, times in microseconds as binary floats."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: float = 0.0
    dur: float = 0.0
    pid: int | str | None = None
    tid: int | str | None = None
    id: int | str | None = None
    args: Args = NO_ARGS


class ExactFileEvent(Struct, gc=False, frozen=True):
    """The same with decimal times, for the 19-digit ones of spring 2024."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: Decimal = Decimal(0)
    dur: Decimal = Decimal(0)
    pid: int | str | None = None
    tid: int | str | None = None
    id: int | str | None = None
    args: Args = NO_ARGS


AnyEvent = FileEvent | ExactFileEvent
ARG_KEYS: dict[str, str] = {name: _RENAME.get(name, name) for name in Args.__struct_fields__}
ARG_POSITIONS = {name: at for at, name in enumerate(Args.__struct_fields__)}
_LIMIT = 1 << 62
RAW_ARGS = frozenset({"dims", "dims_2021", "types", "concrete", "strides"})


def coerce_event(found: Any) -> ExactFileEvent | None:
    """An event whose values have unexpected types, as well as it can be read; None for no event.

    Ascend's torch_npu writes `ts` as a string, `stream` may be a word, and a number may be too
    large for 64 bits.
    """
    if not isinstance(found, dict):
        return None
    args = found.get("args")
    return ExactFileEvent(
        ph=_text(found.get("ph")),
        cat=_text(found.get("cat")),
        name=_text(found.get("name")),
        ts=_number(found.get("ts")),
        dur=_number(found.get("dur")),
        pid=_identity(found.get("pid")),
        tid=_identity(found.get("tid")),
        id=_identity(found.get("id")),
        args=_coerce_args(args) if isinstance(args, dict) else NO_ARGS,
    )


def _coerce_args(args: dict[str, Any]) -> Args:
    values: dict[str, Any] = {}
    for name, key in ARG_KEYS.items():
        if key not in args:
            continue
        value = args[key]
        if name in RAW_ARGS:
            values[name] = Raw(encode(value))
        elif name == "call_stack":
            values[name] = _text(value)
        else:
            values[name] = _integer(value, Args.__struct_defaults__[ARG_POSITIONS[name]])
    return Args(**values)


def _integer(value: Any, default: int) -> int:
    number = _number(value) if value is not None else Decimal(default)
    return int(number) if abs(number) < _LIMIT else default


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _identity(value: Any) -> int | str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _LIMIT else str(value)
    return None if value is None else str(value)


def _number(value: Any) -> Decimal:
    try:
        number = Decimal(value) if isinstance(value, (int, str)) else Decimal(repr(value))
    except (ArithmeticError, ValueError):
        return Decimal(0)
    return number if number.is_finite() else Decimal(0)
