"""Columns of integers, packed into text that a browser unpacks (web/columns.js).

Each number becomes one without a sign (zigzag), as many bytes as the largest needs. All first bytes
stand before all second ones, which gzip packs best; the columns follow each other.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 6


def packed(columns: Mapping[str, NDArray[Any]], deltas: frozenset[str]) -> dict[str, Any]:
    """Pack columns of one length.

    Args:
        columns: arrays of shape (n,) with integers below 2**52, by name.
        deltas: the names of those that are kept as differences between neighbours.
    """
    layout, parts = list[dict[str, Any]](), list[bytes]()
    for name, column in columns.items():
        values = column.astype(np.int64)
        if name in deltas:
            values = np.diff(values, prepend=np.int64(0))
        plain = ((values << 1) ^ (values >> 63)).astype("<u8")
        width = max((int(plain.max(initial=0)).bit_length() + 7) // 8, 1)
        planes = plain.view(np.uint8).reshape(-1, 8)[:, :width]
        parts.append(planes.T.tobytes())
        layout.append({"name": name, "width": width, "delta": name in deltas})
    data = gzip.compress(b"".join(parts), _LEVEL, mtime=0)
    count = len(next(iter(columns.values()), ()))
    return {"count": count, "columns": layout, "data": base64.b64encode(data).decode("ascii")}
