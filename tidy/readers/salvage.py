"""Getting the events out of a piece of text that does not decode as a whole.

The piece is cut in groups of events, at what looks like the border between two. Groups that do not
decode are cut in single events, and those that do not decode, even when mended, are lost. No byte
is decoded more than a few times, however many events are damaged.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from typing import Generic, TypeVar

from .header import ends_document
from .mend import MENDABLE_NBYTES, UNDECODABLE, mend

T = TypeVar("T")
DecodeEvents = Callable[[bytes | memoryview], list[T]]

LONGEST_EVENT_NBYTES = 8 << 20

# The keys of the Trace Event Format; a brace before one of them most likely opens an event. A comma
# that is missing or doubled between two events is no loss.
_EVENT_BORDER = re.compile(
    rb'\}[\s,]*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp|tts|tdur|sf|cname)"\s*:)'
)
_ANY_BORDER = re.compile(rb"\}\s*,\s*(?=\{)")
# The bracket that closes the list: after an event, and before another key, the end or a further
# document.
_LIST_END = re.compile(rb'(?:\}[\s,]*|\A\s*)\](?=[\s\0]*(?:,\s*"|[,}]?[\s\0]*\Z|\}\s*\{))')
_MOST_ENDS = 16
NEAR_END_NBYTES = 1 << 14
_MOST_BORDERS = 10
_GROUP = 64
_MOST_JOINED = 32
_MOST_LOST = 300_000  # beyond, groups that do not decode are not looked into


def last_borders(text: bytes, first: int = 0) -> list[int]:
    """Return the last places in `text`, after `first`, where an event seems to start, in order."""
    for start in (max(first, len(text) - NEAR_END_NBYTES), first):
        for border in (_EVENT_BORDER, _ANY_BORDER):
            places = deque((match.end() for match in border.finditer(text, start)), _MOST_BORDERS)
            if places:
                return list(places)
    return []


@dataclass(slots=True)
class Salvage(Generic[T]):
    """Takes pieces of text and keeps what is needed from one to the next.

    Attributes:
        decode: decodes events parted by commas when they are valid, else raises one of UNDECODABLE.
        repairs: counts what was mended, and as "events" those that were lost.
        rest: the end of the last piece, which may become whole with what follows it in the file.
        tail: what stands after the bracket that closes the list of events; None until it is met.
    """

    decode: DecodeEvents[T]
    repairs: Counter[str]
    rest: bytes = b""
    tail: bytes | None = None
    _events: list[T] = field(default_factory=list)
    _mends_groups: bool = False

    def add(self, text: bytes, is_last: bool) -> list[T]:
        """Return the events of one piece; `is_last` means that nothing follows it in the file."""
        self._events, self.rest = [], b""
        borders = [m.end() for m in _EVENT_BORDER.finditer(text)]
        borders = borders or [m.end() for m in _ANY_BORDER.finditer(text)]
        starts = [0, *borders, len(text)]
        for first in range(0, len(starts) - 1, _GROUP):
            group = starts[first : first + _GROUP + 1]
            part = text[group[0] : group[-1]]
            ends_piece = group[-1] == len(text)
            if self._take(part) or (self._mends_groups and self._take_mended(part)):
                continue
            if ends_piece and not is_last and (first or len(text) < LONGEST_EVENT_NBYTES):
                self.rest = part
            elif self.repairs["events"] > _MOST_LOST:
                self.repairs["events"] += len(group) - 1
            else:
                lost = self.repairs["events"]
                self._add_singles([text[a:b] for a, b in pairwise(group)], is_last and ends_piece)
                # Damage that can be mended is often in every event, which is faster mended at once.
                self._mends_groups = self.repairs["events"] == lost
            if self.tail is not None:
                self.tail += text[group[-1] :]
                break
        return self._events

    def _add_singles(self, parts: list[bytes], is_last: bool) -> None:
        while parts and self.tail is None:
            is_last_part = is_last and len(parts) == 1
            taken = self._take_first(parts, is_last_part)
            if not taken and is_last_part:  # the file was cut off in this event, or just after it
                self._take(parts[0][: parts[0].rfind(b"}") + 1])
            self.repairs["events"] += not (taken or is_last_part)
            parts = parts[taken or 1 :]

    def _take_first(self, parts: list[bytes], is_last: bool) -> int:
        """Add the first event. Gives the number of parts that it fills, 0 where it is damaged."""
        if self._take(parts[0]):
            return 1
        # What looked like a border may have been inside an argument.
        depths = accumulate(part.count(b"{") - part.count(b"}") for part in parts[:_MOST_JOINED])
        whole = next((n for n, depth in enumerate(depths, 1) if depth <= 0), 1)
        for count in {whole: None, 1: None}:
            text = b"".join(parts[:count])
            if (count > 1 and self._take(text)) or self._take_mended(text):
                return count
            end = self._list_end(text, is_last)
            if end is not None:
                self.tail = text[end + 1 :] + b"".join(parts[count:])
                return count
        return 0

    def _take(self, text: bytes) -> bool:
        """Add the events of a text. Gives whether it could be decoded."""
        try:
            self._events += self.decode(text)
        except UNDECODABLE:
            return False
        return True

    def _take_mended(self, text: bytes) -> bool:
        repairs = Counter[str]()
        mended = mend(text, repairs) if len(text) <= MENDABLE_NBYTES else None
        if mended is None or not self._take(mended):
            return False
        self.repairs.update(repairs)
        return True

    def _list_end(self, part: bytes, is_last: bool) -> int | None:
        """Where the list is closed in this part, or None; events before that are added."""
        ends = [match.end() - 1 for match in islice(_LIST_END.finditer(part), _MOST_ENDS)]
        for end in ends:
            if self._take(part[:end]) or self._take_mended(part[:end]):
                return end
        for end in ends if is_last else ():
            if ends_document(part[end + 1 :]):
                self.repairs["events"] += 1
                return end
        return None
