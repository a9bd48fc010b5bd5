"""Cutting a trace into pieces that decode on their own.

A trace is `{"key": ..., "traceEvents": [{...}, {...}, ...], "key": ...}` or the array alone. It is
cut before an event in the last block read, so that no more than a block or two of text are held at
any time. A place that only looked like the border between two events does no harm: the piece does
not decode, and its end is tried again together with what follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Generic, TypeVar

from .container import Blocks
from .header import ends_document, opens_document
from .mend import UNDECODABLE
from .salvage import LONGEST_EVENT_NBYTES, DecodeEvents, Salvage, last_borders

PIECE_NBYTES = 1 << 19
_LONGEST_HEAD_NBYTES = 64 << 20
_LONGEST_TAIL_NBYTES = 16 << 20
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_OVERLAP = 1 << 10  # a border and the key above may lie across two blocks
_MOST_KEYS = 16
_MOST_ENDS = 16

T = TypeVar("T")


class EventText(Generic[T]):
    """The parts of a trace's text: `head`, then lists of events by iterating, then `tail`.

    Attributes:
        head: text before the list of events, `{"key": ..., `; empty for a bare array.
        tail: text after the bracket that closes the list; None where the text ended before it.
        found_events: whether there is a list of events at all; if not, `head` has the text.
        start: the first kilobytes of the list.
    """

    def __init__(self, blocks: Blocks, decode: DecodeEvents[T], repairs: Counter[str]) -> None:
        self._blocks = blocks
        self._decode = decode
        self._salvage = Salvage(decode, repairs)
        self.start = b""
        self.tail: bytes | None = None
        text = bytearray()
        found = self._find_list(text)
        self.found_events = found is not None
        start, end = found or (len(text), len(text))
        self.head, rest = bytes(text[:start]), bytes(text[end:])
        parts = (rest[at : at + PIECE_NBYTES] for at in range(0, len(rest), PIECE_NBYTES))
        self._blocks = chain(parts, self._blocks)

    def _find_list(self, text: bytearray) -> tuple[int, int] | None:
        """Read up to the first event; gives the ends of what opens the list, None without one."""
        searched = keys = 0
        first: tuple[int, int] | None = None
        for block in self._blocks:
            text += block
            if text[:1].isspace():
                text[:] = text.lstrip() or text[:1]
            if text[:1].isspace():
                continue
            if not text.startswith(b"{"):
                return (0, 1) if text.startswith(b"[") else None
            spans = [m.span() for m in _EVENTS_KEY.finditer(text, searched)]
            for start, end in spans[: max(0, _MOST_KEYS - keys)]:
                first = first or (start, end)
                if opens_document(bytes(text[:start])):
                    return start, end
            keys += len(spans)
            searched = max(searched, len(text) - _OVERLAP, spans[-1][1] if spans else 0)
            if len(text) > _LONGEST_HEAD_NBYTES:
                break
        # Either the text before the key is damaged, or the key is not at the top level.
        return first

    def __iter__(self) -> Iterator[list[T]]:
        """The events of each piece."""
        text, searched = b"", 0
        for block in self._blocks:
            text += block
            if not self.start:
                self.start = block[: 1 << 14]
            if len(text) < PIECE_NBYTES:
                continue
            cuts = last_borders(text, searched)
            searched = max(0, len(text) - _OVERLAP)
            if not cuts and len(text) < LONGEST_EVENT_NBYTES:
                continue
            events, text = self._take(text, cuts or [len(text)])
            yield events
            if self.tail is not None:
                self._read_tail(text)
                return
            searched = 0
        yield self._take_last(text)

    def _take(self, text: bytes, cuts: list[int]) -> tuple[list[T], bytes]:
        """The events before the last cut that was right, and the text after it."""
        for cut in reversed(cuts):
            try:
                return self._decode(memoryview(text)[:cut]), text[cut:]
            except UNDECODABLE:  # noqa: PERF203
                continue
        cut = cuts[-1]
        events = self._salvage.add(text[:cut], is_last=False)
        self.tail = self._salvage.tail
        return events, self._salvage.rest + text[cut:]

    def _take_last(self, text: bytes) -> list[T]:
        end = len(text)
        for _ in range(_MOST_ENDS):
            end = text.rfind(b"]", 0, end)
            if end < 0:
                break
            if not ends_document(text[end + 1 :]):
                continue
            try:
                events = self._decode(text[:end])
            except UNDECODABLE:
                continue
            self.tail = text[end + 1 :]
            return events
        events = self._salvage.add(text, is_last=True)
        self.tail = self._salvage.tail
        return events

    def _read_tail(self, text: bytes) -> None:
        tail = bytearray(self.tail or b"") + text
        while len(tail) < _LONGEST_TAIL_NBYTES and (block := next(self._blocks, b"")):
            tail += block
        self.tail = bytes(tail)
