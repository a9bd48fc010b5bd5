"""Files that fsspec finds: `s3://bucket/runs`, `gs://`, `file://`, `memory://`, with wildcards."""

from __future__ import annotations

import re
from io import BufferedReader
from typing import IO, Any

from ..errors import UnreadableFile

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WILD = re.compile(r"[*?\[]")


def is_url(path: str) -> bool:
    """Tell whether a path is one for fsspec."""
    return _URL.match(path) is not None


def open_url(url: str) -> IO[bytes]:
    """Open a file.

    Raises:
        OSError: the storage refuses it.
        UnreadableFile: what reads such storage is not installed.
    """
    files, path = _storage(url)
    try:
        return BufferedReader(files.open(path, "rb"))
    except OSError:
        raise
    except Exception as error:  # storages raise what they like
        raise OSError(" ".join(f"{type(error).__name__}: {error}".split())) from error


def files_at(url: str, endings: tuple[str, ...]) -> list[str] | None:
    """List what a folder or wildcards name, sorted; None where it is a file.

    Args:
        endings: of the names that count in a folder.

    Raises:
        OSError: the storage refuses it.
        UnreadableFile: what reads such storage is not installed.
    """
    files, path = _storage(url)
    try:
        if _WILD.search(path):
            found = [each for each in files.glob(path) if not files.isdir(each)]
        elif files.isdir(path):
            found = [each for each in files.find(path) if each.endswith(endings)]
        else:
            return None
        return [files.unstrip_protocol(each) for each in sorted(found)]
    except OSError:
        raise
    except Exception as error:  # as above
        raise OSError(" ".join(f"{type(error).__name__}: {error}".split())) from error


def url_nbytes(url: str) -> int:
    """Return the size of a file; 0 if it is not known."""
    try:
        files, path = _storage(url)
        return int(files.size(path) or 0)
    except Exception:  # it is read, and then refused with the reason
        return 0


def _storage(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        what = "this needs fsspec; run: pip install 'torchtidy[dask]'"
        raise UnreadableFile(url, what) from error
    try:
        files, path = url_to_fs(url)
    except (ImportError, ValueError) as error:  # s3fs is not installed; no such protocol
        text = " ".join(str(error).split())
        raise UnreadableFile(url, f"cannot be read: {text}") from error
    return files, path
