"""Cutting a trace into pieces that decode on their own.

A trace is `{"key": ..., "traceEvents": [{...}, {...}, ...], "key": ...}` or the array alone. It may be
cut at any `}` `,` `{` as long as the piece, in brackets, decodes as an array: a cut inside a nested
object or a string does not decode. So no more than one piece of text is held at any time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from .container import Blocks
from .salvage import UNDECODABLE, decode_any

PIECE_NBYTES = 4 << 20
_LONGEST_EVENT_NBYTES = 64 << 20
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
# The bracket that closes the list: after an event, and before another key or the end.
_ARRAY_END = re.compile(rb'(?:\}\s*,?|\A)\s*(\])\s*(?=,\s*"[^"]*"\s*:|\}|\Z)')
_MOST_ENDS = 32

T = TypeVar("T")


class EventText(Generic[T]):
    """The parts of a trace's text: `head`, then pieces of events by iterating, then `tail`.

    head: text before the list of events, `{"key": ..., `; empty for a bare array.
    tail: text after the bracket that closes the list; None where the text ended before it.
    found_events: whether there is a list of events at all.
    """

    def __init__(self, blocks: Blocks, decode: Callable[[bytes], list[T]]) -> None:
        """Take blocks of text, and a function that decodes events parted by commas."""
        self._blocks = blocks
        self._decode = decode
        self._rest = b""
        self.head = b""
        self.tail: bytes | None = None
        self.found_events = False
        self._open()

    def _open(self) -> None:
        """Read up to the first event."""
        buffer = bytearray()
        for block in self._blocks:
            buffer += block
            text = bytes(buffer).lstrip()
            if not text:
                continue
            if text[:1] != b"{":
                is_array = text[:1] == b"["
                self._start(b"" if is_array else text, text[1:] if is_array else b"", is_array)
                return
            match = _find_events_key(text)
            if match is not None and (match.end() < len(text)):
                self._start(text[: match.start()], text[match.end() :], True)
                return
            if len(buffer) > _LONGEST_EVENT_NBYTES:
                break
        text = bytes(buffer)
        match = _find_events_key(text)
        if match is not None:
            self._start(text[: match.start()], text[match.end() :], True)
        else:
            self._start(text, b"", False)

    def _start(self, head: bytes, rest: bytes, found: bool) -> None:
        self.head, self._rest, self.found_events = head, rest, found

    def __iter__(self) -> Iterator[tuple[bytes, list[T] | None]]:
        """Pieces as (text, events); the events of a damaged piece are None."""
        buffer = bytearray(self._rest)
        self._rest = b""
        for block in self._blocks:
            buffer += block
            if len(buffer) < PIECE_NBYTES:
                continue
            cut = _last_border(buffer)
            if cut is None:
                if len(buffer) < _LONGEST_EVENT_NBYTES:
                    continue
                cut = len(buffer), len(buffer)
            piece = bytes(buffer[: cut[0]])
            events = self._try(piece)
            if events is None:
                ended = self._up_to_end(piece, is_last=False)
                if ended is not None:
                    self._read_tail(bytes(buffer[cut[0] :]))
                    yield ended
                    return
            yield piece, events
            del buffer[: cut[1]]
        last = bytes(buffer)
        yield self._up_to_end(last, is_last=True) or (last, self._try(last))

    def _try(self, text: bytes) -> list[T] | None:
        try:
            return self._decode(text)
        except UNDECODABLE:
            return None

    def _up_to_end(self, text: bytes, is_last: bool) -> tuple[bytes, list[T] | None] | None:
        """The piece before the bracket that closes the list, None where `text` does not have it."""
        ends = [match.start(1) for match in _ARRAY_END.finditer(text)]
        ends = ends[: -_MOST_ENDS - 1 : -1] + ends[: max(0, len(ends) - _MOST_ENDS)][:1]
        for end in ends:
            events = self._try(text[:end])
            if events is not None:
                self.tail = text[end + 1 :]
                return text[:end], events
        # The events are damaged, but what follows the list may tell where it ends.
        for end in ends if is_last else ():
            if decode_tail(text[end + 1 :]) is not None:
                self.tail = text[end + 1 :]
                return text[:end], None
        return None

    def _read_tail(self, after_piece: bytes) -> None:
        tail = bytearray((self.tail or b"") + after_piece)
        for block in self._blocks:
            if len(tail) < _LONGEST_EVENT_NBYTES:
                tail += block
        self.tail = bytes(tail)


def decode_head(text: bytes) -> dict[str, object]:
    """The keys before the events."""
    return _object(text.rstrip().rstrip(b",") + b"}")


def decode_tail(text: bytes) -> dict[str, object] | None:
    """The keys after the events; None where the text does not end as a trace does."""
    text = text.strip()
    if not text or text == b"}":
        return {}
    return _object(b"{" + text.lstrip(b",")) or None


def _object(text: bytes) -> dict[str, object]:
    found = decode_any(text)
    return found if isinstance(found, dict) else {}


def _find_events_key(text: bytes) -> re.Match[bytes] | None:
    """The key at the top level, or the first that looks like it where the head is damaged."""
    first = None
    for match in _EVENTS_KEY.finditer(text):
        first = first or match
        try:
            msgspec.json.decode(text[: match.start()] + b'"":0}')
        except UNDECODABLE:
            continue
        return match
    return first


def _last_border(buffer: bytearray) -> tuple[int, int] | None:
    """(end of an event, start of the next) for the last `}` `,` `{` in the buffer."""
    at = len(buffer)
    while (at := buffer.rfind(b"{", 0, at)) > 0:
        before = buffer[max(0, at - 64) : at].rstrip()
        if before.endswith(b","):
            before = before[:-1].rstrip()
            if before.endswith(b"}"):
                return max(0, at - 64) + len(before), at
    return None
