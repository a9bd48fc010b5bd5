"""From a file of any packing to a stream of blocks of UTF-8 text.

The packing is told by the first bytes, never by the suffix. A damaged stream gives what could be
unpacked and a warning. The text of a file that is not packed may be read out of order, also by
other processes.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import TraceFormatError
from .gunzip import gunzip
from .untar import is_tar, untar
from .unzip import unzip

BLOCK_NBYTES = 1 << 19

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


def read_blocks(
    file: IO[bytes], path: str, warn: Warn, progress: Progress | None = None
) -> TextBlocks:
    """Return the text of `file`, which messages call `path`, unpacked and without a byte order
    mark.

    Raises:
        TraceFormatError: the file is packed in a way that tidy does not read.
    """
    source = FileBlocks(file, progress)
    blocks: TextBlocks = source

    def guard(unpacked: Iterable[bytes]) -> TextBlocks:
        return TextBlocks(_guarded(unpacked, source, path))

    for _ in range(_MOST_LAYERS):
        head = _peek(blocks)
        for magic, packing in _OTHER_PACKINGS.items():
            if head.startswith(magic):
                raise TraceFormatError(path, f"{packing}-compressed; unpack it first")
        if head.startswith(b"\x1f\x8b"):
            blocks = guard(gunzip(blocks, BLOCK_NBYTES, warn))
        elif head.startswith(b"PK\x03\x04"):
            blocks = guard(unzip(blocks, BLOCK_NBYTES, path, warn))
        elif is_tar(head):
            blocks = guard(untar(blocks, BLOCK_NBYTES, path, warn))
        else:
            return _utf8(head, blocks)
    raise TraceFormatError(path, "packed more than three times; unpack it first")


class TextBlocks(Iterator[bytes]):
    """Blocks of text, which may be given back."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self._blocks, self._given_back = iter(blocks), deque[bytes]()

    def __next__(self) -> bytes:
        """Return the next block."""
        return self._given_back.popleft() if self._given_back else self._read()

    def give_back(self, blocks: Sequence[bytes]) -> None:
        """Have these, which were the last, come again."""
        self._given_back.extendleft(reversed(blocks))

    def _read(self) -> bytes:
        return next(self._blocks)


class FilePlace(NamedTuple):
    """Where any process finds a file, and what tells whether it is still the same."""

    path: str
    device: int
    inode: int


class FileBlocks(TextBlocks):
    """The blocks of an open file as they are.

    Attributes:
        place: None for what is no regular file, such as a pipe.
        nbytes: how long the file is, 0 if it has no place.
        at: where the block ends that was read last.
    """

    def __init__(self, file: IO[bytes], progress: Progress | None) -> None:
        super().__init__()
        self._file, self._progress = file, progress
        self.place, self.nbytes = _place_of(file)
        self.at = self._file_at = 0

    @property
    def is_in_order(self) -> bool:
        """Tell whether the next block is that of the file at `at`, of a file that has a place."""
        return self.place is not None and not self._given_back

    def _read(self) -> bytes:
        block = self.text(self.at, self.at + BLOCK_NBYTES)
        if not block:
            raise StopIteration
        self.pass_over(self.at + len(block))
        return block

    def pass_over(self, end: int) -> None:
        """Go on at `end`."""
        self.at = end
        if self._progress is not None:
            self._progress(end)

    def text(self, start: int, end: int) -> bytes:
        """Return what the file has there; less where it ends before."""
        if start != self._file_at:
            self._file.seek(start)
        found = self._file.read(end - start) or b""
        self._file_at = start + len(found)
        return found


def _place_of(file: IO[bytes]) -> tuple[FilePlace | None, int]:
    """Where another process finds an open file that is read from its beginning; and its length."""
    try:
        found, path = os.fstat(file.fileno()), Path(file.name).resolve()
        named = path.stat()
        if not stat.S_ISREG(found.st_mode) or not os.path.samestat(found, named) or file.tell():
            return None, 0
    except (OSError, ValueError, TypeError, AttributeError):  # a pipe, or what fsspec has opened
        return None, 0
    return FilePlace(str(path), found.st_dev, found.st_ino), found.st_size


def _guarded(unpacked: Iterable[bytes], source: FileBlocks, path: str) -> Iterator[bytes]:
    """Return the blocks that are not empty.

    Raises:
        TraceFormatError: they are more than any trace unpacks to.
    """
    nbytes = 0
    for block in unpacked:
        nbytes += len(block)
        if nbytes > max(_BOMB_NBYTES, _BOMB_RATIO * source.at):
            what = f"unpacks to more than {_BOMB_RATIO} times its size, which no trace does"
            raise TraceFormatError(path, what)
        if block:
            yield block


def _peek(blocks: TextBlocks) -> bytes:
    """The first block, made 512 bytes long where there are so many."""
    head = next(blocks, b"")
    while len(head) < 512 and (more := next(blocks, b"")):
        head += more
    blocks.give_back([head] if head else [])
    return head


def _utf8(head: bytes, blocks: TextBlocks) -> TextBlocks:
    if head.startswith(codecs.BOM_UTF8):
        blocks.give_back([next(blocks)[len(codecs.BOM_UTF8) :]])
        return blocks
    if head.startswith(_UTF16_LE):
        return TextBlocks(_transcode(blocks, "utf-16-le"))
    return TextBlocks(_transcode(blocks, "utf-16-be")) if head.startswith(_UTF16_BE) else blocks


def _transcode(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Turn UTF-16 into UTF-8; a Windows shell writes redirected output so."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield decoder.decode(block).replace("\ufeff", "").encode()
