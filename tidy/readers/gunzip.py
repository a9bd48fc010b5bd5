"""Unpacking gzip, also of files that are damaged or cut off."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's `wbits` for it
_SLICE_NBYTES = 1 << 14
# bgzip writes members of 64 kB; a file of a thousand tiny ones only wastes time.
_MANY_MEMBERS = 1000
_TINY_MEMBER_NBYTES = 1000
_DAMAGED = "the gzip stream is damaged; what comes after the damage is lost"


def gunzip(
    blocks: Iterator[bytes], block_nbytes: int, warn: Callable[[str], None]
) -> Iterator[bytes]:
    """Unpack gzip members one after the other, each in blocks of at most `block_nbytes`."""
    engine = zlib.decompressobj(_GZIP)
    members = nbytes = 0
    data = b""
    for part in _slices(blocks):
        data += part
        while data:
            if engine.eof:
                if len(data) < len(_MAGIC):
                    break
                if not data.startswith(_MAGIC):
                    return  # padding after the last member
                members += 1
                if members > _MANY_MEMBERS and nbytes < _TINY_MEMBER_NBYTES * members:
                    warn(_DAMAGED)
                    return
                engine = zlib.decompressobj(_GZIP)
            before = engine.copy()
            try:
                text = engine.decompress(data, block_nbytes)
            except zlib.error:
                yield from _before_damage(before, data)
                warn(_DAMAGED)
                return
            nbytes += len(text)
            yield text
            data = engine.unused_data if engine.eof else engine.unconsumed_tail
    if not engine.eof:
        yield engine.flush()
        warn("the gzip stream ends early; what was cut off is lost")


def _slices(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut blocks into small parts, since zlib copies what it does not use at once."""
    for block in blocks:
        for at in range(0, len(block), _SLICE_NBYTES):
            yield block[at : at + _SLICE_NBYTES]


def _before_damage(engine: Any, data: bytes) -> Iterator[bytes]:
    """What can be unpacked before the damage.

    A call of zlib that fails gives nothing, so each call gets half as much as the one before.
    """
    step = len(data)
    while step:
        before = engine.copy()
        try:
            yield engine.decompress(data[:step])
            data = data[step:]
        except zlib.error:
            engine = before
        step //= 2
