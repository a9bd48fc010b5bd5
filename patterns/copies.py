"""Copies between host and device, by direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Trace


def upload_rows(trace: Trace) -> NDArray[np.int64]:
    """Copies from the host to a device."""
    return _copies(trace, "HtoD")


def download_rows(trace: Trace) -> NDArray[np.int64]:
    """Copies from a device to the host."""
    return _copies(trace, "DtoH")


def _copies(trace: Trace, direction: str) -> NDArray[np.int64]:
    rows = trace.rows_of_kind(EventKind.Memcpy)
    named = [i for i, name in enumerate(trace.names) if direction in name]
    return rows[np.isin(trace.name_id[rows], named)]
