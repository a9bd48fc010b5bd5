"""Unpacking the one JSON member of a tar archive from front to back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import TraceFormatError
from .unzip import SEVERAL, BlockStream, is_trace

_MARK, _MARK_AT = b"ustar", 257
_LOST = "the tar archive is damaged or cut off; what comes after the damage is lost"


def is_tar(head: bytes) -> bool:
    """Tell whether a file of 512 bytes or more that begins so is a tar archive."""
    return head[_MARK_AT : _MARK_AT + len(_MARK)] == _MARK


def untar(
    blocks: Iterator[bytes], block_nbytes: int, path: str, warn: Callable[[str], None]
) -> Iterator[bytes]:
    """Return the text of the member that is a trace, in blocks of at most `block_nbytes`.

    Raises:
        TraceFormatError: there is no such member, or several.
    """
    import tarfile  # few traces are in archives

    found = False
    stream: Any = BlockStream(blocks)
    try:
        with tarfile.open(fileobj=stream, mode="r|", bufsize=block_nbytes) as archive:
            for member in archive:
                file = archive.extractfile(member) if is_trace(member.name) else None
                if file is None:
                    continue
                if found:
                    raise TraceFormatError(path, SEVERAL.format("tar"))
                found = True
                while text := file.read(block_nbytes):
                    yield text
    except tarfile.TarError:
        warn(_LOST)
    if not found:
        raise TraceFormatError(path, "this is a tar archive without a .json file")
