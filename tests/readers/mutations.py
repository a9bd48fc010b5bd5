"""Kinds of damage for the fuzzer; each changes a text in place, at a place of its choice."""

from __future__ import annotations

import re
from random import Random

_NUMBER = re.compile(rb"(?<=[:\[ ,])-?\d+(?:\.\d+)?(?=\s*[,}\]])")
_STRING = re.compile(rb'"[^"\n]*"')
_WORD = re.compile(rb"[\w:.]+")
_EVENT = re.compile(rb'\{\s*"ph"')
_LOOKED_FOR = (
    b"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", b"Optimizer.step#SGD.step",
    b"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", b"ProfilerStep#1",
    b"Optimizer.zero_grad#SGD.zero_grad", b"aten::copy_", b"aten::item", b"aten::index",
    b"aten::cat", b"cudaMemcpyAsync", b"cudaLaunchKernel", b"cudaStreamSynchronize", b"aten::mm",
    b"Memcpy HtoD",
)  # fmt: skip
_CATEGORIES = (
    b"Trace", b"cpu_op", b"kernel", b"user_annotation", b"gpu_user_annotation", b"cuda_runtime",
    b"python_function", b"gpu_memcpy", b"overhead",
)  # fmt: skip
_EVENTS = b'"traceEvents": ['
_TOKENS = (
    b"NaN", b"inf", b"-inf", b"N/A", b"1e999", b"-1e999", b"1e-999", b'"x"', b'"1.5"', b"-1", b"0",
    b"1180591620717411303424", b"9223372036854775807", b"18446744073709551615", b"-2147483649",
    b"1e18", b"1.5", b"[]", b"{}", b"[[[]]]", b"null", b"true", b"", b'"0x7f"', b'"\\ud800"',
    b"1" * 5000, b'"NaN"', b'"sNaN"', b'"\xd9\xa3"', b"1e999999999", b"4e15", b"-4e15", b"1e12",
)  # fmt: skip
_JUNK = (
    b'"', b"\\", b"},{", b"]", b"[", b"{", b"}", b"\0", b"\xff", b"\r\n", b",,", b"],", b"]}",
    b'"traceEvents": [', b'"ph": "X", ', b"\xef\xbb\xbf", b"\\u12", b"{" * 3000, b"[" * 3000,
)  # fmt: skip


def damage_text(rng: Random, text: bytearray) -> None:
    """Damage JSON, now and then not at all, now and then in many places."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8, 40))):
        if text:
            rng.choice(MUTATIONS)(rng, text)


def damage_bytes(rng: Random, data: bytearray) -> None:
    """Damage what is packed."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        if data:
            rng.choice((flip_bit, delete, insert, repeat, swap, truncate))(rng, data)


def flip_bit(rng: Random, text: bytearray) -> None:
    text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)


def delete(rng: Random, text: bytearray) -> None:
    start = rng.randrange(len(text))
    del text[start : start + rng.choice((1, 1, 2, 30, 3000))]


def insert(rng: Random, text: bytearray) -> None:
    at = rng.randrange(len(text))
    text[at:at] = rng.choice((rng.randbytes(rng.choice((1, 4, 300))), rng.choice(_JUNK)))


def repeat(rng: Random, text: bytearray) -> None:
    start, at = rng.randrange(len(text)), rng.randrange(len(text))
    text[at:at] = text[start : start + rng.choice((1, 20, 5000))]


def swap(rng: Random, text: bytearray) -> None:
    size = rng.choice((1, 20, 5000))
    a, b = sorted(rng.randrange(len(text)) for _ in range(2))
    if a + size <= b:
        text[a : a + size], text[b : b + size] = text[b : b + size], text[a : a + size]


def truncate(rng: Random, text: bytearray) -> None:
    if rng.random() < 0.3:  # else most texts would be short ones
        del text[rng.randrange(len(text)) :]


def change_number(rng: Random, text: bytearray) -> None:
    _replace(rng, text, _NUMBER, rng.choice(_TOKENS))


def copy_number(rng: Random, text: bytearray) -> None:
    """Put a number where another stands: ids, times and threads that contradict each other."""
    found = _NUMBER.search(text, rng.randrange(len(text)))
    if found is not None:
        _replace(rng, text, _NUMBER, bytes(found[0]))


def change_string(rng: Random, text: bytearray) -> None:
    _replace(rng, text, _STRING, rng.choice(_TOKENS))


def copy_string(rng: Random, text: bytearray) -> None:
    found = _STRING.search(text, rng.randrange(len(text)))
    if found is not None:
        _replace(rng, text, _STRING, bytes(found[0]))


def insert_quote(rng: Random, text: bytearray) -> None:
    _replace(rng, text, _WORD, b'a"b')


def change_key(rng: Random, text: bytearray) -> None:
    """Replace one value everywhere: every event of one kind, thread or time is hit."""
    found = _STRING.search(text, rng.randrange(len(text)))
    if found is not None:
        text[:] = text.replace(found[0], rng.choice(_TOKENS)[:40])


def repeat_event(rng: Random, text: bytearray) -> None:
    found = [m.start() for m in _EVENT.finditer(text, rng.randrange(len(text)))][:2]
    if len(found) == 2:
        text[found[0] : found[0]] = text[found[0] : found[1]] * rng.choice((1, 2, 50))


def add_event(rng: Random, text: bytearray) -> None:
    """Add an event of a name that rules look for, in whatever category: as the first, or alone."""
    name, category = rng.choice(_LOOKED_FOR), rng.choice(_CATEGORIES)
    event = b'{"ph": "X", "cat": "%b", "name": "%b", "pid": 1, "tid": 1, "ts": %d, "dur": %d}'
    event %= category, name, rng.choice((0, 1, 10**6, 10**15)), rng.choice((0, 1, 10**3, 10**9))
    head, found, tail = text.partition(_EVENTS)
    text[:] = head + (found or _EVENTS) + event + rng.choice((b"," + tail, b"]}"))


def minify(rng: Random, text: bytearray) -> None:
    text[:] = re.sub(rb"\s*\n\s*", b"", text)


def use_crlf(rng: Random, text: bytearray) -> None:
    text[:] = text.replace(b"\n", b"\r\n")


def recode(rng: Random, text: bytearray) -> None:
    encoding = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"))
    if rng.random() < 0.2:
        text[:] = text.decode("utf-8", "replace").encode(encoding)


def _replace(rng: Random, text: bytearray, pattern: re.Pattern[bytes], by: bytes) -> None:
    found = pattern.search(text, rng.randrange(len(text)))
    if found is not None:
        start, end = found.span()
        del found  # it would hold the text's size fixed
        text[start:end] = by


MUTATIONS = (
    flip_bit, delete, insert, repeat, swap, truncate, change_number, change_number, copy_number,
    copy_number, change_string, copy_string, insert_quote, change_key, repeat_event, minify,
    use_crlf, recode, add_event, add_event,
)  # fmt: skip
