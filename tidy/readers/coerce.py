"""Reading events whose values have unexpected types, as well as they can be read.

Ascend's torch_npu writes `ts` as a string, ROCm's `stream` may be "0x0" or a word, and a number may
be too large for 64 bits.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw, defstruct

from .schema import NO_ARGS, NO_NUMBER, Args, ExactFileEvent

_NOTHING, _NULL = Raw(b""), b"null"
_NO_NUMBER = Decimal(NO_NUMBER)
_LIMIT = 1 << 62
_LOST = "values of a wrong type or size"


def _loosened(schema: type[msgspec.Struct]) -> Any:
    """Decodes objects with the keys of `schema` without looking at the values."""
    fields = schema.__struct_fields__
    names = dict(zip(fields, schema.__struct_encode_fields__, strict=True))
    loose = [(name, Raw, _NOTHING) for name in fields]
    return msgspec.json.Decoder(defstruct(f"Loose{schema.__name__}", loose, rename=names))


_event_values = _loosened(ExactFileEvent)
_args_values = _loosened(Args)
_args_defaults = dict(zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True))


def coerce_event(element: Raw | bytes, lost: Counter[str]) -> ExactFileEvent | None:
    """The event, or None where the element is not an object.

    Args:
        element: the JSON of one element of the list of events.
        lost: counts the values that had to be left out.

    Raises:
        One of mend.UNDECODABLE: a value is not valid JSON.
    """
    try:
        found = _event_values.decode(element)
    except msgspec.ValidationError:
        return None
    return ExactFileEvent(
        ph=_text(found.ph),
        cat=_text(found.cat),
        name=_text(found.name),
        ts=_time(found.ts, _NO_NUMBER),
        dur=_time(found.dur, Decimal(0)),
        pid=_identity(found.pid),
        tid=_identity(found.tid),
        id=_identity(found.id),
        args=_coerce_args(found.args, lost),
    )


def _coerce_args(element: Raw, lost: Counter[str]) -> Args:
    if bytes(element) in (b"", _NULL):
        return NO_ARGS
    try:
        found = _args_values.decode(element)
    except msgspec.ValidationError:
        lost[_LOST] += 1
        return NO_ARGS
    values: dict[str, Any] = {}
    for name, default in _args_defaults.items():
        raw = getattr(found, name)
        if bytes(raw) in (b"", _NULL):
            continue
        if isinstance(default, Raw):
            values[name] = raw
        elif isinstance(default, str):
            values[name] = _text(raw)
        else:
            number = _number(raw)
            if number is not None and -_LIMIT < number < _LIMIT:
                values[name] = int(number)
            else:
                lost[_LOST] += 1
    return Args(**values)


def _value(raw: Raw) -> Any:
    """The decoded value, or None for a number that is too large for a binary float."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        return None


def _text(raw: Raw) -> str:
    value = _value(raw) if raw else ""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _identity(raw: Raw) -> int | str | None:
    value = _value(raw) if raw else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _LIMIT else str(value)
    return None if value is None else str(value)


def _time(raw: Raw, default: Decimal) -> Decimal:
    if not raw:
        return default
    number = _number(raw)
    return _NO_NUMBER if number is None else number


def _number(raw: Raw) -> Decimal | None:
    """The exact value of a number, which may be in quotes; None for anything else."""
    text = bytes(raw).strip(b'"')
    try:
        number = Decimal(int(text, 16) if text[:2] == b"0x" else text.decode())
    except (ArithmeticError, ValueError):
        return None
    return number if number.is_finite() else None
