"""Mending text that is not valid JSON but leaves no doubt of what was meant.

What real files do wrong: bare `inf`, `nan` and `N/A`; raw control characters, bytes that are no
UTF-8, halves of surrogate pairs and the backslashes of Windows paths inside strings; commas with
nothing after them.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

# ValidationError, for values of another type than the schema's, is among them.
UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
MENDABLE_NBYTES = 1 << 20

# As much as is sound, at the speed of a regular expression, then one token that is not. The first
# that cannot be mended ends it all, so no byte is looked at more than a few times.
_SOUND = re.compile(
    rb"""(?:
      [^"A-Za-z,+-]+
    | "[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"
    | ,(?!\s*[,}\]])
    | (?:true|false|null)\b
    | (?<=\d)[eE](?=[\d+-])
    | [+-](?![A-Za-z])
    )*""",
    re.VERBOSE,
)
_TOKEN = re.compile(
    rb""""[^"\\]*(?:\\.[^"\\]*)*"
    | [+-]?[A-Za-z][A-Za-z/_]*(?:\([a-z]*\))?
    | ,(?:\s*,)*
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_SURROGATES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_CLOSING = re.compile(rb"\s*[}\]]")
_VALUE_FOLLOWS = re.compile(rb"[:,\[]\s*\Z")
_REPLACEMENT = "\ufffd".encode()


def mend(text: bytes, repairs: Counter[str]) -> bytes | None:
    """Return the mended text, or None if it needs no mending or is beyond it; `repairs` counts."""
    mendings = Counter[str]()
    try:
        text.decode()
    except UnicodeDecodeError:
        known = text.count(_REPLACEMENT)
        text = text.decode("utf-8", "replace").encode()
        mendings["bytes that are no UTF-8"] += text.count(_REPLACEMENT) - known
    parts: list[bytes] = []
    at = 0
    while (sound := _SOUND.match(text, at)) and sound.end() < len(text):
        token = _TOKEN.match(text, sound.end())
        mended = _mend_token(text, token.start(), token.end(), mendings) if token else None
        if token is None or mended is None:
            return None
        at = token.end()
        parts += (sound[0], mended)
    repairs.update(mendings)
    return b"".join(parts) + text[at:] if mendings else None


def _mend_token(text: bytes, start: int, end: int, found: Counter[str]) -> bytes | None:
    token = text[start:end]
    if token[:1] == b'"':
        return _mend_string(token, found)
    if token[:1] == b",":
        found["commas with nothing after them"] += 1
        return b"" if _CLOSING.match(text, end) else b","
    if _VALUE_FOLLOWS.search(text, max(0, start - 32), start):
        found["bare values such as inf or N/A"] += 1
        return b"null"
    return None


def _mend_string(text: bytes, repairs: Counter[str]) -> bytes:
    if _CONTROL.search(text):
        repairs["strings with raw control characters"] += 1
        text = _CONTROL.sub(b" ", text)
    if b"\\" in text:
        mended = _ESCAPE.sub(lambda escape: escape[0] if len(escape[0]) > 1 else b"/", text)
        if mended != text:
            repairs["strings with stray backslashes"] += 1
        whole = _SURROGATES.sub(lambda pair: pair[1] or _REPLACEMENT, mended)
        if whole != mended:
            repairs["strings with half a surrogate pair"] += 1
        text = whole
    return text
