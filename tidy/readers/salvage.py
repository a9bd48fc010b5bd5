"""Getting events out of text that is no valid JSON.

What real files do wrong: bare `inf`, `nan` and `N/A`; raw control characters, bytes that are no UTF-8
and the backslashes of Windows paths inside strings; quotes that nobody escaped; text cut off.
A piece is mended as a whole first. If it still does not decode it is halved, at what looks like the
border between two events, until what does not decode is a single event, and that one is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
DecodeEvents = Callable[[bytes], list[T]]

UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

# The keys of the Trace Event Format; a brace before one of them most likely opens an event.
_BORDER = re.compile(
    rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp|tts|sf|cname)"\s*:)'
)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|(?<![\w.+-])-?[A-Za-z][A-Za-z/_]*', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_BAD_ESCAPE = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_WORDS = (b"true", b"false", b"null")


def decode_any(text: bytes) -> Any:
    """The document, or None where it does not decode even when mended."""
    for candidate in (text, mend(text, Counter())):
        try:
            return msgspec.json.decode(candidate)
        except UNDECODABLE:
            continue
    return None


def mend(text: bytes, repairs: Counter[str]) -> bytes:
    """Replace what is no JSON but leaves no doubt of what was meant; `repairs` counts each kind."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        decoded = text.decode("utf-8", "replace")
        repairs["bytes that are no UTF-8"] += decoded.count("\ufffd")
        text = decoded.encode("utf-8")

    def token(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if found[:1] != b'"':
            if found in _WORDS:
                return found
            repairs["bare values such as inf or N/A"] += 1
            return b"null"
        if _CONTROL.search(found):
            repairs["strings with raw control characters"] += 1
            found = _CONTROL.sub(b" ", found)
        if _BAD_ESCAPE.search(found):
            repairs["strings with stray backslashes"] += 1
            found = _BAD_ESCAPE.sub(b"/", found)
        return found

    return _TOKEN.sub(token, text)


def salvage(text: bytes, decode: DecodeEvents[T], repairs: Counter[str]) -> list[list[T]]:
    """All events of a damaged piece that can be had, in batches; `repairs["events"]` counts the
    lost ones.

    Args:
        text: events parted by commas, without brackets around them.
        decode: decodes such a text when it is valid, else raises one of UNDECODABLE.
    """
    attempt: Counter[str] = Counter()
    try:
        whole = decode(mend(text, attempt))
    except UNDECODABLE:
        pass
    else:
        repairs.update(attempt)
        return [whole]
    borders = [0, *(match.end() for match in _BORDER.finditer(text)), len(text)]
    pieces: list[list[T]] = []
    pending = [(0, len(borders) - 1)]
    while pending:
        low, high = pending.pop()
        part = text[borders[low] : borders[high]].strip().rstrip(b",")
        if not part:
            continue
        try:
            pieces.append(decode(part))
            continue
        except UNDECODABLE:
            pass
        if high - low > 1:
            middle = (low + high) // 2
            pending += [(middle, high), (low, middle)]
            continue
        attempt = Counter()
        try:
            pieces.append(decode(mend(part, attempt)))
            repairs.update(attempt)
        except UNDECODABLE:
            repairs["events"] += 1
    return pieces
