"""From a file of any packing to a stream of blocks of UTF-8 text.

The packing is told by the first bytes, never by the suffix. A damaged stream gives what could be
unpacked and a warning.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO

from ..errors import TraceFormatError
from .gunzip import gunzip
from .untar import is_tar, untar
from .unzip import unzip

BLOCK_NBYTES = 1 << 19

Blocks = Iterator[bytes]
Warn = Callable[[str], None]  # takes a sentence about damage
Progress = Callable[[int], None]  # bytes of the file read so far

_OTHER_PACKINGS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7-Zip",
    b"Rar!": "RAR",
}
# By a byte order mark, or by the first character of JSON.
_UTF16_LE, _UTF16_BE = (codecs.BOM_UTF16_LE, b"{\0", b"[\0"), (codecs.BOM_UTF16_BE, b"\0{", b"\0[")
# A zip or a tar of a gzip is usual, and that tar in gzip; there are archives that hold themselves.
_MOST_LAYERS = 4
# Traces shrink to a twentieth; the digits of their times alone keep them above a fiftieth.
_BOMB_RATIO = 100
_BOMB_NBYTES = 1 << 28


def read_blocks(file: IO[bytes], path: str, warn: Warn, progress: Progress | None = None) -> Blocks:
    """Return the text of `file`, which messages call `path`, unpacked and without a byte order
    mark.

    Raises:
        TraceFormatError: the file is packed in a way that tidy does not read.
    """
    source = _Source(file, path, progress)
    blocks = source.blocks()
    for _ in range(_MOST_LAYERS):
        head, blocks = _peek(blocks)
        for magic, packing in _OTHER_PACKINGS.items():
            if head.startswith(magic):
                raise TraceFormatError(path, f"{packing}-compressed; unpack it first")
        if head.startswith(b"\x1f\x8b"):
            blocks = source.guard(gunzip(blocks, BLOCK_NBYTES, warn))
        elif head.startswith(b"PK\x03\x04"):
            blocks = source.guard(unzip(blocks, BLOCK_NBYTES, path, warn))
        elif is_tar(head):
            blocks = source.guard(untar(blocks, BLOCK_NBYTES, path, warn))
        else:
            return _utf8(head, blocks)
    raise TraceFormatError(path, "packed more than three times; unpack it first")


class _Source:
    """The file itself, and how much of it was read."""

    def __init__(self, file: IO[bytes], path: str, progress: Progress | None) -> None:
        self._file, self._path, self._progress = file, path, progress
        self._nbytes = 0

    def blocks(self) -> Blocks:
        while block := self._file.read(BLOCK_NBYTES):
            self._nbytes += len(block)
            if self._progress is not None:
                self._progress(self._nbytes)
            yield block

    def guard(self, unpacked: Blocks) -> Blocks:
        """Return the blocks that are not empty.

        Raises:
            TraceFormatError: they are more than any trace unpacks to.
        """
        nbytes = 0
        for block in unpacked:
            nbytes += len(block)
            if nbytes > max(_BOMB_NBYTES, _BOMB_RATIO * self._nbytes):
                what = f"unpacks to more than {_BOMB_RATIO} times its size, which no trace does"
                raise TraceFormatError(self._path, what)
            if block:
                yield block


def _peek(blocks: Blocks) -> tuple[bytes, Blocks]:
    """The first block, made 512 bytes long where there are so many, and all blocks."""
    head = next(blocks, b"")
    while len(head) < 512 and (more := next(blocks, b"")):
        head += more
    return head, chain([head] if head else [], blocks)


def _utf8(head: bytes, blocks: Blocks) -> Blocks:
    if head.startswith(codecs.BOM_UTF8):
        next(blocks)
        return chain([head[3:]], blocks)
    if head.startswith(_UTF16_LE):
        return _transcode(blocks, "utf-16-le")
    return _transcode(blocks, "utf-16-be") if head.startswith(_UTF16_BE) else blocks


def _transcode(blocks: Blocks, encoding: str) -> Blocks:
    """Turn UTF-16 into UTF-8; a Windows shell writes redirected output so."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield decoder.decode(block).replace("\ufeff", "").encode()
