"""Cutting a trace into pieces that decode on their own.

A trace is `{"key": ..., "traceEvents": [{...}, {...}, ...], "key": ...}` or the array alone. It is
cut before an event in the last block read, so that no more than a block or two of text are held at
any time. A place that only looked like the border between two events does no harm: the piece does
not decode, and its end is tried again together with what follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Generic, NamedTuple, TypeVar

from . import container
from .container import FileBlocks, TextBlocks
from .header import ends_document, opens_document
from .mend import UNDECODABLE
from .salvage import LONGEST_EVENT_NBYTES, NEAR_END_NBYTES, DecodeEvents, Salvage, last_borders

PIECE_NBYTES = 1 << 19
LONGEST_USUAL_NBYTES = PIECE_NBYTES + container.BLOCK_NBYTES
_LONGEST_HEAD_NBYTES = 64 << 20
_LONGEST_TAIL_NBYTES = 16 << 20
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_OVERLAP = 1 << 10  # a border and the key above may lie across two blocks
_MOST_KEYS = 16
_MOST_ENDS = 16

T = TypeVar("T")


class CutPiece(NamedTuple):
    """A piece that may not decode.

    Attributes:
        text: all that was read and not used before; the piece ends at the last of the cuts.
        cuts: the places where it may end.
        sizes: the sizes of the blocks that were read for it, with which the text ends.
    """

    text: bytes
    cuts: list[int]
    sizes: list[int]

    @property
    def blocks(self) -> list[bytes]:
        """The blocks that were read for the piece."""
        starts = accumulate(self.sizes, initial=len(self.text) - sum(self.sizes))
        return [self.text[a:b] for a, b in pairwise(starts)]


class PieceOfFile(NamedTuple):
    """The same of a piece that lies in a file as it is, of which little was read.

    Attributes:
        start, end: where the text lies.
        cuts: the places where the piece may end, from `start` on.
        read_from: where the first of the blocks begins.
    """

    file: FileBlocks
    start: int
    end: int
    cuts: list[int]
    read_from: int

    @property
    def text(self) -> bytes:
        """All that was not used before."""
        return self.file.text(self.start, self.end)

    @property
    def blocks(self) -> list[bytes]:
        """The blocks that would have been read for the piece."""
        each = container.BLOCK_NBYTES
        starts = range(self.read_from, self.end, each)
        return [self.file.text(at, at + each) for at in starts]


class EventText(Generic[T]):
    """The parts of a trace's text: `head`, then lists of events by iterating, then `tail`.

    Attributes:
        head: text before the list of events, `{"key": ..., `; empty for a bare array.
        tail: text after the bracket that closes the list; None where the text ended before it.
        found_events: whether there is a list of events at all; if not, `head` has the text.
        start: the first kilobytes of the list.
        is_over: whether all events were given.
    """

    def __init__(self, blocks: TextBlocks, decode: DecodeEvents[T], repairs: Counter[str]) -> None:
        self._blocks, self._decode = blocks, decode
        self._salvage = Salvage(decode, repairs)
        self.start = b""
        self.tail: bytes | None = None
        text = bytearray()
        found = self._find_list(text)
        self.found_events = found is not None
        start, end = found or (len(text), len(text))
        self.head, rest = bytes(text[:start]), bytes(text[end:])
        blocks.give_back([rest[at : at + PIECE_NBYTES] for at in range(0, len(rest), PIECE_NBYTES)])
        self._text, self.is_over = b"", False
        self._passed_nbytes = 0  # after the last piece, of a file whose text was not read here
        self._read: list[bytes] = []  # the blocks since the last piece

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
        """The events of each piece that was not read yet."""
        while not self.is_over:
            yield self.read_piece()

    def read_piece(self) -> list[T]:
        """Return the events of the next piece."""
        cuts = self._read_on()
        if cuts is None:
            return self._take_last(self._text)
        return self._take(cuts)

    def cut_piece(self) -> CutPiece | PieceOfFile | None:
        """Cut the next piece on trust that it decodes; None where only the end is left.

        `restore` takes it back if it does not.
        """
        if (of_file := self._cut_of_file()) is not None:
            return of_file
        cuts = self._read_on()
        if cuts is None:
            return None
        piece = CutPiece(self._text, cuts, [len(block) for block in self._read])
        self._text, self._read = self._text[cuts[-1] :], []
        return piece

    def _cut_of_file(self) -> PieceOfFile | None:
        """Cut the next piece of a file where most of it is not read here, or return None.

        It is the piece that `_read_on` would find.
        """
        file = self._blocks
        if not isinstance(file, FileBlocks) or not file.is_in_order or self._read:
            return None
        start = file.at - len(self._text) - self._passed_nbytes
        end = file.at + container.BLOCK_NBYTES
        while end - start < PIECE_NBYTES:
            end += container.BLOCK_NBYTES
        near = max(start, end - NEAR_END_NBYTES)
        text = file.text(near, end) if end <= file.nbytes else b""
        cuts = [near - start + cut for cut in last_borders(text)]
        if len(text) < end - near or not cuts:
            return None
        piece = PieceOfFile(file, start, end, cuts, file.at)
        file.pass_over(end)
        self._text, self._passed_nbytes = b"", end - start - cuts[-1]
        return piece

    def restore(self, pieces: Sequence[CutPiece | PieceOfFile]) -> list[T]:
        """Take back pieces, the last that were cut, and give the events of the first of them."""
        first, *others = pieces
        self._blocks.give_back([*(block for each in others for block in each.blocks), *self._read])
        self._text, self._read, self._passed_nbytes = first.text, [], 0
        return self._take(first.cuts)

    def _read_on(self) -> list[int] | None:
        """Read up to where a piece may end; gives the places to try, None where the file ends."""
        if self._passed_nbytes and isinstance(self._blocks, FileBlocks):
            at = self._blocks.at
            self._text, self._passed_nbytes = self._blocks.text(at - self._passed_nbytes, at), 0
        searched = 0
        for block in self._blocks:
            self._read.append(block)
            self._text += block
            if not self.start:
                self.start = block[: 1 << 14]
            if len(self._text) < PIECE_NBYTES:
                continue
            cuts = last_borders(self._text, searched)
            searched = max(0, len(self._text) - _OVERLAP)
            if cuts or len(self._text) >= LONGEST_EVENT_NBYTES:
                return cuts or [len(self._text)]
        return None

    def _take(self, cuts: list[int]) -> list[T]:
        """The events before the last cut that was right."""
        text, self._read = self._text, []
        for cut in reversed(cuts):
            try:
                events, self._text = self._decode(memoryview(text)[:cut]), text[cut:]
            except UNDECODABLE:
                continue
            return events
        cut = cuts[-1]
        events = self._salvage.add(text[:cut], is_last=False)
        self._text, self.tail = self._salvage.rest + text[cut:], self._salvage.tail
        if self.tail is not None:
            self.is_over = True
            self._read_tail(self._text)
        return events

    def _take_last(self, text: bytes) -> list[T]:
        self.is_over = True
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
