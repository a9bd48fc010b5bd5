"""Telling summaries from other files, by their names and first bytes."""

from __future__ import annotations

import zlib

# It ends as what it is, JSON in gzip, so that any tool opens it and a look into a folder finds it;
# what stands before tells people that it is no trace.
SUFFIX = ".tidy.json.gz"
PACKED = b"\x1f\x8b"
GZIP = 31  # zlib's word for it
_HEAD = b'{"tidy_summary":'


def is_summary(head: bytes) -> bool:
    """Tell a summary by the first bytes of its file, which may have been unpacked."""
    if not head.startswith(PACKED):
        return head.startswith(_HEAD)
    try:
        return zlib.decompressobj(GZIP).decompress(head, len(_HEAD)) == _HEAD
    except zlib.error:
        return False
