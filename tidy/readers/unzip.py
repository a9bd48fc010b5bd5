"""Unpacking the one JSON member of a zip archive from front to back.

The archive's directory stands at its end, where it is missing when the file was cut off and cannot
be reached in a pipe; each member's own header is enough.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from ..errors import TraceFormatError

_HEADER = struct.Struct("<4s5H3I2H")
_MEMBER = b"PK\x03\x04"
_DIRECTORY = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _SIZE_FOLLOWS = 1, 8  # bits of the flags
_ZIP64 = 0xFFFFFFFF
_MOST_SKIPPED = 2048  # blocks
_MOST_MEMBERS = 10_000
_RARE = "this is a zip archive of a rare kind; unpack it first"
SEVERAL = "this is a {} archive with several .json files; unpack it and name one"
_LOST = "the zip archive is damaged or cut off; what comes after the damage is lost"


def unzip(
    blocks: Iterator[bytes], block_nbytes: int, path: str, warn: Callable[[str], None]
) -> Iterator[bytes]:
    """Return the text of the member that is a trace, in blocks of at most `block_nbytes`.

    Raises:
        TraceFormatError: there is no such member, or several, or it is packed in another way.
    """
    archive = _Archive(blocks, block_nbytes, path)
    found = members = 0
    while (name := archive.next_member()) is not None:
        members += 1
        if members > _MOST_MEMBERS:
            raise TraceFormatError(path, _RARE)
        if name.endswith("data.pkl"):
            raise TraceFormatError(path, "this is a file of torch.save, no trace")
        wanted = is_trace(name)
        found += wanted
        if found > 1:
            raise TraceFormatError(path, SEVERAL.format("zip"))
        for number, text in enumerate(archive.unpack()):
            if wanted:
                yield text
            elif number > _MOST_SKIPPED:
                raise TraceFormatError(path, _RARE)
        if archive.damaged:
            break
    if archive.damaged:
        warn(_LOST)
    if not found:
        what = "a damaged zip archive" if archive.damaged else "a zip archive without a .json file"
        raise TraceFormatError(path, f"this is {what}")


def is_trace(name: str) -> bool:
    """Tell whether a member of an archive is a trace, by its path."""
    hidden = name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")
    return name.endswith((".json", ".json.gz")) and not hidden


class BlockStream:
    """Blocks as a file that is read from front to back."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._data = blocks, b""

    def read(self, nbytes: int) -> bytes:
        """Return so many bytes, fewer at the end."""
        while len(self._data) < nbytes and (block := next(self._blocks, b"")):
            self._data += block
        taken, self._data = self._data[:nbytes], self._data[nbytes:]
        return taken


class _Archive(BlockStream):
    """An archive that is read from front to back, member by member."""

    def __init__(self, blocks: Iterator[bytes], block_nbytes: int, path: str) -> None:
        super().__init__(blocks)
        self._block_nbytes, self._path = block_nbytes, path
        self._flags = self._method = self._packed_nbytes = 0
        self.damaged = False

    def next_member(self) -> str | None:
        """Read the header of the next member. Gives its name, or None after the last."""
        header = self.read(_HEADER.size)
        if self._flags & _SIZE_FOLLOWS and not header.startswith(_MEMBER):
            # A descriptor of 12 to 24 bytes stands after the member.
            header += self.read(24)
            at = header.find(_MEMBER)
            self._data = header[at:] + self._data if at >= 0 else b""
            header = self.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(_MEMBER):
            self.damaged = not header.startswith(_DIRECTORY)
            return None
        fields = _HEADER.unpack(header)
        self._flags, self._method, self._packed_nbytes = fields[2], fields[3], fields[7]
        name = self.read(fields[9]).decode("utf-8", "replace")
        extra = self.read(fields[10])
        if self._packed_nbytes == _ZIP64 and len(extra) >= 20:
            (self._packed_nbytes,) = struct.unpack_from("<Q", extra, 12)
        return name

    def unpack(self) -> Iterator[bytes]:
        """Return the content of the current member."""
        if self._flags & _ENCRYPTED:
            raise TraceFormatError(self._path, "this is an encrypted zip archive; unpack it first")
        if self._method == _DEFLATED:
            return self._inflate()
        if self._method == _STORED and not self._flags & _SIZE_FOLLOWS:
            return self._copy()
        raise TraceFormatError(self._path, _RARE)

    def _copy(self) -> Iterator[bytes]:
        left = self._packed_nbytes
        while left and (text := self.read(min(left, self._block_nbytes))):
            left -= len(text)
            yield text
        self.damaged = left > 0

    def _inflate(self) -> Iterator[bytes]:
        engine = zlib.decompressobj(wbits=-15)
        while not engine.eof:
            self._data = self._data or next(self._blocks, b"")
            self.damaged = not self._data
            if self.damaged:
                yield engine.flush()
                return
            try:
                yield engine.decompress(self._data, self._block_nbytes)
            except zlib.error:
                self.damaged = True
                return
            self._data = engine.unused_data if engine.eof else engine.unconsumed_tail
