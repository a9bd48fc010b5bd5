"""From a file of any packing to a stream of blocks of UTF-8 text.

The packing is told by the first bytes, never by the suffix. A damaged stream gives what could be
unpacked and a warning.
"""

from __future__ import annotations

import codecs
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO

from ..errors import TraceFormatError

BLOCK_NBYTES = 1 << 20

Blocks = Iterator[bytes]
Warn = Callable[[str], None]
Progress = Callable[[int], None]  # bytes of the file read so far

_OTHER_PACKINGS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7-Zip",
    b"Rar!": "RAR",
}
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def read_blocks(file: IO[bytes], path: str, warn: Warn, progress: Progress | None = None) -> Blocks:
    """The text of `file` in blocks: gunzipped, unzipped, without byte order mark.

    Raises:
        TraceFormatError: for packings that are not read.
    """
    return _unpack(_raw_blocks(file, progress), file, path, warn)


def _raw_blocks(file: IO[bytes], progress: Progress | None) -> Blocks:
    done = 0
    while block := file.read(BLOCK_NBYTES):
        done += len(block)
        if progress is not None:
            progress(done)
        yield block


def _unpack(blocks: Blocks, file: IO[bytes] | None, path: str, warn: Warn) -> Blocks:
    head = next(blocks, b"")
    while len(head) < 8 and (more := next(blocks, b"")):
        head += more
    blocks = chain([head] if head else [], blocks)
    for magic, packing in _OTHER_PACKINGS.items():
        if head.startswith(magic):
            raise TraceFormatError(path, f"{packing}-compressed; unpack it first (gzip is read)")
    if head.startswith(b"\x1f\x8b"):
        return _unpack(_gunzip(blocks, warn), None, path, warn)
    if head.startswith(b"PK\x03\x04"):
        return _unpack(_unzip(blocks, file, path, warn), None, path, warn)
    if head.startswith(codecs.BOM_UTF8):
        return chain([head[3:]], blocks_after_first(blocks))
    for mark, encoding in _UTF16.items():
        if head.startswith(mark):
            return _transcode(blocks, encoding)
    return blocks


def blocks_after_first(blocks: Blocks) -> Blocks:
    next(blocks, b"")
    return blocks


def _transcode(blocks: Blocks, encoding: str) -> Blocks:
    """UTF-16, as a Windows shell writes redirected output."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = (decoder.decode(block) for block in blocks)
    return (piece.lstrip("\ufeff").encode("utf-8", "replace") for piece in text)


def _gunzip(blocks: Blocks, warn: Warn) -> Blocks:
    """Unpack gzip members one after the other, each in blocks of bounded size."""
    engine = zlib.decompressobj(wbits=31)
    for block in blocks:
        data = block
        while data:
            if engine.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # padding after the last member
                engine = zlib.decompressobj(wbits=31)
            try:
                text = engine.decompress(data, BLOCK_NBYTES)
            except zlib.error:
                warn("the gzip stream is damaged; what comes after the damage is lost")
                return
            if text:
                yield text
            data = engine.unused_data if engine.eof else engine.unconsumed_tail
    if not engine.eof:
        if rest := engine.flush():
            yield rest
        warn("the gzip stream ends early; what was cut off is lost")


def _unzip(blocks: Blocks, file: IO[bytes] | None, path: str, warn: Warn) -> Blocks:
    """The one JSON member of a zip archive."""
    if file is None or not file.seekable():
        file = io.BytesIO(b"".join(blocks))
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError):
        return _first_member(file, path, warn)
    members = [m for m in archive.infolist() if m.filename.endswith((".json", ".json.gz"))]
    if len(members) != 1:
        if any(m.filename.endswith("data.pkl") for m in archive.infolist()):
            raise TraceFormatError(path, "a file of torch.save, no trace")
        found = "no .json file" if not members else f"{len(members)} .json files"
        raise TraceFormatError(path, f"a zip archive with {found}; unpack it and name the trace")
    return _member_blocks(archive, members[0], path, warn)


def _member_blocks(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, warn: Warn
) -> Blocks:
    if member.flag_bits & 1:
        raise TraceFormatError(path, "an encrypted zip archive; unpack it first")
    try:
        with archive.open(member) as packed:
            while block := packed.read(BLOCK_NBYTES):
                yield block
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError):
        warn("the zip archive is damaged; what comes after the damage is lost")


def _first_member(file: IO[bytes], path: str, warn: Warn) -> Blocks:
    """The first member of an archive whose directory, at its end, was cut off."""
    file.seek(0)
    header = file.read(30)
    if len(header) < 30:
        raise TraceFormatError(path, "a zip archive cut off in its first bytes")
    flags, method = struct.unpack_from("<HH", header, 6)
    name_nbytes, extra_nbytes = struct.unpack_from("<HH", header, 26)
    if flags & 1 or method != zipfile.ZIP_DEFLATED:
        raise TraceFormatError(path, "a damaged zip archive; pack or record the trace again")
    file.seek(30 + name_nbytes + extra_nbytes)
    warn("the zip archive is damaged or cut off; what comes after the damage is lost")
    engine = zlib.decompressobj(wbits=-15)
    for block in _raw_blocks(file, None):
        data = block
        while data and not engine.eof:
            try:
                text = engine.decompress(data, BLOCK_NBYTES)
            except zlib.error:
                return
            if text:
                yield text
            data = engine.unconsumed_tail
