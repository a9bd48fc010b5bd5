"""The keys of a trace beside its events.

They are few and short in what PyTorch writes, but a user may add any, of any size.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec

from .mend import MENDABLE_NBYTES, UNDECODABLE, mend
from .schema import Nothing

MOST_NBYTES = 4 << 20
_MOST_TRIES = 64
_BLANKS = b" \t\r\n\0"
# What is looked for where the text around it is damaged beyond mending.
_KNOWN = re.compile(
    r'"(schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds|traceName|record_shapes'
    r"|with_stack|with_flops|with_modules|profile_memory|(?:cuda|hip)_(?:runtime|driver)_version)"
    r'"\s*:\s*'
)
_EVENT = re.compile(rb'"ph"\s*:')

_any_object = msgspec.json.Decoder(Nothing)
_raw_values = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any_value = msgspec.json.Decoder()


def opens_document(text: bytes) -> bool:
    """Tell whether the text begins an object and ends before a key at its top level."""
    return _decode(_any_object, text + b'"":0}') is not None


def ends_document(text: bytes) -> bool:
    """Tell whether the text can stand in a document after its list of events."""
    text = text.strip(_BLANKS)
    if not text or text == b"}":
        return True
    return text[:1] == b"," and _decode(_any_object, b"{" + text[1:]) is not None


def top_level(text: bytes) -> Mapping[str, bytes] | None:
    """Return the JSON of each value of an object, by its key; None if the text is not an object."""
    values = _decode(_raw_values, text)
    return values if values is None else {key: bytes(value) for key, value in values.items()}


def read_header(head: bytes, tail: bytes | None, warnings: list[str]) -> dict[str, Any]:
    """Return the keys before and after the list of events, decoded.

    Args:
        head: text before the list of events, `{"key": ..., `; empty for a bare array.
        tail: text after it, `, "key": ...}`; None where the file ends before that.
        warnings: sentences that count the keys that could not be read are added to it.
    """
    parts = []
    if head:
        parts.append(head.rstrip(_BLANKS + b",") + b"}")
    rest = (b"}" if tail is None else tail).strip(_BLANKS + b",")
    if not rest:
        warnings += ["the file is cut off right after the list of events"] if head else []
    elif rest[:1] != b"}":
        parts.append(b"{" + rest)
    if further := len(_EVENT.findall(rest)):
        warnings.append(f"left out events after the end of their list: {further:,}")
    header: dict[str, Any] = {}
    lost, left = 0, MOST_NBYTES
    for part in parts:
        values = top_level(part)
        if values is None:
            known = _recover(part[: 2 * MENDABLE_NBYTES].decode("utf-8", "replace"))
            header |= known
            warnings.append(f"the header is damaged; keys of it that could be read: {len(known)}")
            continue
        for key, value in values.items():
            fits = len(value) <= left and key != "traceEvents"
            found = _decode(_any_value, value) if fits else None
            if found is None and value != b"null":
                lost += 1
                continue
            header[key] = found
            left -= len(value)
    if lost:
        warnings.append(f"left out keys of the header, damaged or too large: {lost:,}")
    return header


def _decode(decoder: msgspec.json.Decoder[Any], text: bytes) -> Any:
    """The value of the text, mended if need be; None where it is beyond mending."""
    try:
        return decoder.decode(text)
    except UNDECODABLE:
        if len(text) > MENDABLE_NBYTES:
            return None
    mended = mend(text, Counter())
    try:
        return None if mended is None else decoder.decode(mended)
    except UNDECODABLE:
        return None


def _recover(text: str) -> dict[str, Any]:
    """The known keys of a damaged header."""
    decoder, found, end = json.JSONDecoder(), dict[str, Any](), 0
    for match in islice(_KNOWN.finditer(text), _MOST_TRIES):
        if match.start() < end:
            continue
        try:
            found[match[1]], end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
    return found
