"""Decoding text with the fastest schema that fits it."""

from __future__ import annotations

import re
from collections import Counter

import msgspec
from msgspec.structs import asdict

from .coerce import coerce_event
from .schema import AnyEvent, ExactFileEvent, FileEvent, Nothing
from .times import needs_decimals, to_float

_AROUND = b" \t\r\n,"
_BLANKS = re.compile(rb"[ \t\r\n,]*")


class EventDecoder:
    """Decodes pieces of a trace; `lost` counts values and elements that cannot be used."""

    def __init__(self, lost: Counter[str]) -> None:
        self._fast = msgspec.json.Decoder(list[FileEvent])
        self._exact = msgspec.json.Decoder(list[ExactFileEvent])
        self._one = msgspec.json.Decoder(ExactFileEvent)
        self._raw = msgspec.json.Decoder(list[msgspec.Raw])
        self._nothing = msgspec.json.Decoder(Nothing)
        self._is_exact = False
        self._lost = lost

    def decode(self, text: bytes | memoryview) -> list[AnyEvent]:
        """The events in `text`, a list without its brackets.

        All of them are FileEvent, or all of them ExactFileEvent.

        Raises:
            One of mend.UNDECODABLE: the text is not valid JSON.
        """
        array = _in_brackets(text)
        try:
            if not self._is_exact:
                events = self._fast.decode(array)
                if not needs_decimals(events):
                    return events  # type: ignore[return-value]  # list is invariant
                self._is_exact = True
            return self._exact.decode(array)  # type: ignore[return-value]
        except msgspec.ValidationError:
            return self._one_by_one(array)

    def _one_by_one(self, array: bytes) -> list[AnyEvent]:
        """Decode elements of which some have values of unexpected types."""
        if b"{" not in array:
            self._nothing.decode(b'{"":%b}' % array)
            self._lost["elements that are no events"] += array.count(b",") + 1
            return []
        events: list[ExactFileEvent] = []
        lost = Counter[str]()
        for element in self._raw.decode(array):
            try:
                events.append(self._one.decode(element))
            except msgspec.ValidationError:  # noqa: PERF203
                event = coerce_event(element, lost)
                if event is None:
                    lost["elements that are no events"] += 1
                else:
                    events.append(event)
        self._lost.update(lost)
        if not self._is_exact:
            fast = [_with_floats(event) for event in events]
            self._is_exact = needs_decimals(fast)
            if not self._is_exact:
                return fast  # type: ignore[return-value]
        return events  # type: ignore[return-value]


def _in_brackets(text: bytes | memoryview) -> bytes:
    """`[text]` without the commas around `text`, at the cost of one copy."""
    lead = _BLANKS.match(text)
    first, last = lead.end() if lead else 0, len(text)
    while first < last and text[last - 1] in _AROUND:
        last -= 1
    return b"".join((b"[", memoryview(text)[first:last], b"]"))


def _with_floats(event: ExactFileEvent) -> FileEvent:
    values = asdict(event) | {"ts": to_float(event.ts), "dur": to_float(event.dur)}
    return FileEvent(**values)
