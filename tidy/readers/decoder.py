"""Decoding text with the fastest schema that fits it."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw, defstruct
from msgspec.structs import asdict

from .schema import NO_ARGS, NO_NUMBER, AnyEvent, Args, ExactFileEvent, FileEvent, Nothing
from .times import needs_decimals, to_float

_AROUND = b" \t\r\n,"
_BLANKS = re.compile(rb"[ \t\r\n,]*")
_NOTHING, _NULL = Raw(b""), b"null"
_NO_NUMBER = Decimal(NO_NUMBER)
_LIMIT = 1 << 62
_GROUP = 32  # elements
_LOST = "values of a wrong type or size"


class EventDecoder:
    """Decodes pieces of a trace; `lost` counts values and elements that cannot be used.

    Attributes:
        is_exact: whether a piece was met whose times need decimals; all that follow have them.
    """

    def __init__(self, lost: Counter[str]) -> None:
        self._fast = msgspec.json.Decoder(list[FileEvent])
        self._exact = msgspec.json.Decoder(list[ExactFileEvent])
        self._one = msgspec.json.Decoder(ExactFileEvent)
        self._raw = msgspec.json.Decoder(list[Raw])
        self._nothing = msgspec.json.Decoder(Nothing)
        self.is_exact = False
        self._lost = lost

    def decode(self, text: bytes | memoryview) -> list[AnyEvent]:
        """Return the events in `text`, a list without its brackets.

        All of them are FileEvent, or all of them ExactFileEvent.

        Raises:
            One of mend.UNDECODABLE: the text is not valid JSON.
        """
        array = _in_brackets(text)
        try:
            if not self.is_exact:
                events = self._fast.decode(array)
                if not needs_decimals(events):
                    return events  # type: ignore[return-value]  # list is invariant
                self.is_exact = True
            return self._exact.decode(array)  # type: ignore[return-value]
        except msgspec.ValidationError:
            return self._one_by_one(array)

    def _one_by_one(self, array: bytes) -> list[AnyEvent]:
        """Decode elements of which some have values of unexpected types."""
        if b"{" not in array:
            self._nothing.decode(b'{"":%b}' % array)
            self._lost["elements that are no events"] += array.count(b",") + 1
            return []
        elements = self._raw.decode(array)
        if not self.is_exact:
            events, lost = self._in_groups(elements, self._fast)
            self.is_exact = needs_decimals(events)
        if self.is_exact:
            events, lost = self._in_groups(elements, self._exact)
        self._lost.update(lost)
        return events

    def _in_groups(
        self, elements: list[Raw], decoder: msgspec.json.Decoder[Any]
    ) -> tuple[list[Any], Counter[str]]:
        """Decode groups of elements, and one by one those of a group in which one does not fit."""
        events: list[Any] = []
        lost = Counter[str]()
        for first in range(0, len(elements), _GROUP):
            group = elements[first : first + _GROUP]
            try:
                events += decoder.decode(b"[%b]" % b",".join(group))
            except msgspec.ValidationError:
                exact = [event for each in group if (event := self._any(each, lost)) is not None]
                events += exact if decoder is self._exact else map(_to_fast, exact)
        return events, lost

    def _any(self, element: Raw, lost: Counter[str]) -> ExactFileEvent | None:
        """The event in one element, coerced where it does not fit; None where there is none."""
        try:
            return self._one.decode(element)
        except msgspec.ValidationError:
            event = _coerce_event(element, lost)
        if event is None:
            lost["elements that are no events"] += 1
        return event


def _to_fast(event: ExactFileEvent) -> FileEvent:
    return FileEvent(**asdict(event) | {"ts": to_float(event.ts), "dur": to_float(event.dur)})


def _in_brackets(text: bytes | memoryview) -> bytes:
    """`[text]` without the commas around `text`, at the cost of one copy."""
    lead = _BLANKS.match(text)
    first, last = lead.end() if lead else 0, len(text)
    while first < last and text[last - 1] in _AROUND:
        last -= 1
    return b"".join((b"[", memoryview(text)[first:last], b"]"))


def _loosened(schema: type[msgspec.Struct]) -> Any:
    """Decodes objects with the keys of `schema` without looking at the values."""
    fields = schema.__struct_fields__
    names = dict(zip(fields, schema.__struct_encode_fields__, strict=True))
    loose = [(name, Raw, _NOTHING) for name in fields]
    return msgspec.json.Decoder(defstruct(f"Loose{schema.__name__}", loose, rename=names))


_event_values = _loosened(ExactFileEvent)
_args_values = _loosened(Args)
_args_defaults = dict(zip(Args.__struct_fields__, Args.__struct_defaults__, strict=True))


def _coerce_event(element: Raw | bytes, lost: Counter[str]) -> ExactFileEvent | None:
    """The event in one element of the list, as well as it can be read; None where it is no object.

    Values may have unexpected types: Ascend's torch_npu writes `ts` as a string, ROCm's `stream`
    may be "0x0" or a word, and a number may be too large for 64 bits.
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
