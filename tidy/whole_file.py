"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, content: bytes, before: bytes | None = None) -> None:
    """Write a file beside the one of that name, and put it in its place; its mode stays.

    Raises:
        OSError: it cannot be written, or is no longer as it was before, if that is given.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
        if file.exists():
            shutil.copymode(file, temporary)
        else:
            temporary.chmod(0o666 & ~_umask())
        if before is not None and file.read_bytes() != before:
            raise OSError("it has changed meanwhile")
        temporary.replace(file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    """What is taken off the mode of new files; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
