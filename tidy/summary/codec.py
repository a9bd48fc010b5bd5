"""Summaries as bytes: JSON in gzip, and back."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from gzip import compress
from typing import Any, TypeVar

import msgspec

from ..account import Account
from ..errors import TraceFormatError
from .form import SUMMARY_VERSION, SummaryForm, Version, from_form, to_form
from .recognise import GZIP, PACKED
from .summary import Summary

_LEVEL = 6
_MOST_NBYTES = 1 << 28  # of text; a summary of a trace of 1 GB has about one
_ANOTHER = "make it anew with tidy report --summaries"
_LONG_NUMBER = re.compile(rb"[0-9]{20}")
_LARGEST = 10**19  # with more digits it is none of a trace
_PARTS = frozenset(("compute", "communication", "copy", "idle", "host"))

T = TypeVar("T")

_version = msgspec.json.Decoder(Version)
_form = msgspec.json.Decoder(SummaryForm)


def encode(summary: Summary) -> bytes:
    """Return a summary as the content of a file, the same for the same summary."""
    form = to_form(summary)
    try:
        text = msgspec.json.encode(form, enc_hook=_plain)
    except UnicodeEncodeError:  # half a surrogate pair, as in a path that is no UTF-8
        builtins = msgspec.to_builtins(form, enc_hook=_plain)
        text = json.dumps(builtins, separators=(",", ":")).encode()
    return compress(text, _LEVEL, mtime=0)


def _plain(value: object) -> str | int | float:
    """Return a rule's own kind of text or number as what it is."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"a {type(value).__name__} in a summary")


def decode(content: bytes, path: str) -> Summary:
    """Return the summary in the content of a file, which messages call `path`.

    Raises:
        TraceFormatError: it is none, is damaged, or was written by a later tidy.
    """
    text = _unpacked(content, path)
    try:
        version = _decoded(text, _version, Version).tidy_summary
        if version > SUMMARY_VERSION:
            newest = f"a summary of version {version}, and this tidy reads up to {SUMMARY_VERSION}"
            raise TraceFormatError(path, f"{newest}: update tidy, or {_ANOTHER}")
        form = _decoded(text, _form, SummaryForm)
        _check(form, text)
        return from_form(form)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error


def _unpacked(content: bytes, path: str) -> bytes:
    if not content.startswith(PACKED):
        return content
    unpacking = zlib.decompressobj(GZIP)
    try:
        text = unpacking.decompress(content, _MOST_NBYTES)
    except zlib.error as error:
        raise _damaged(path, error) from error
    if unpacking.unconsumed_tail:
        raise TraceFormatError(path, f"a summary of more than {_MOST_NBYTES >> 20} MB; {_ANOTHER}")
    if not unpacking.eof:
        raise _damaged(path, "it is cut off")
    return text


def _decoded(text: bytes, decoder: msgspec.json.Decoder[T], kind: type[T]) -> T:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):  # or there is half a surrogate pair
        return msgspec.convert(json.loads(text), kind)


def _damaged(path: str, why: object) -> TraceFormatError:
    return TraceFormatError(path, f"a damaged summary ({why}); {_ANOTHER}")


def _check(form: SummaryForm, text: bytes) -> None:
    """Look for what no summary says, and what no report could show.

    Raises:
        ValueError: there is such a thing.
    """
    if _LONG_NUMBER.search(text) and any(abs(each) >= _LARGEST for each in _integers(form)):
        raise ValueError("a number that is too large")
    for account in form.accounts:
        for part in (*account.parts, *account.not_counted):
            if part.part not in _PARTS or not part.kinds:
                raise ValueError(f"a part {part.part!r} of an account")
            if not 0 <= part.share <= 1.001:
                raise ValueError(f"a part of an account with a share of {part.share}")
        _check_efficiency(account)


def _check_efficiency(account: Account) -> None:
    known = account.efficiency
    if known is not None and known.rates is not None and not known.rates.nbytes_per_s > 0:
        raise ValueError("a device without bandwidth")


def _integers(form: SummaryForm) -> Iterator[int]:
    """All integers in a document."""
    left: list[Any] = [msgspec.to_builtins(form)]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value
        elif isinstance(value, int):
            yield value
