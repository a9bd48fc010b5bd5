"""Numbers that stand for tracks and for the inputs of ops, which recur in many events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace.raw_columns import Strings, Track
from .schema import Args


class TrackIds(dict[tuple[Any, Any], int]):
    """The track id of each (pid, tid) as written; "25738" and 25738 are one thread."""

    def __init__(self, strings: Strings) -> None:
        super().__init__()
        self._tracks = strings.tracks

    def __missing__(self, written: tuple[Any, Any]) -> int:
        pid, tid = written
        self[written] = found = self._tracks[Track(_plain(pid), _plain(tid))]
        return found


class Signatures(dict[tuple[bytes, bytes, bytes, bytes], int]):
    """The index into `Strings.signatures` of (dims, types, concrete inputs, strides) as JSON."""

    def __init__(self, strings: Strings) -> None:
        super().__init__()
        self._strings = strings
        self[(b"",) * 4] = -1

    def __missing__(self, texts: tuple[bytes, bytes, bytes, bytes]) -> int:
        numbers = self._strings.texts
        self[texts] = found = self._strings.signatures[tuple(numbers[text] for text in texts)]
        return found

    def ids(self, args: list[Args]) -> NDArray[np.int32]:
        """The signature of each op, -1 where no inputs were recorded."""
        found = [
            self[bytes(a.dims or a.dims_2021), bytes(a.types), bytes(a.concrete), bytes(a.strides)]
            for a in args
        ]
        return np.array(found, np.int32)


def _plain(identity: Any) -> int | str:
    if isinstance(identity, str):
        return int(identity) if identity.isdecimal() and len(identity) < 19 else identity
    return "" if identity is None else int(identity)


def stream_of(tid: int | str) -> int:
    """The number of a stream whose row is 7 or "stream 7", else -1."""
    if isinstance(tid, int):
        return tid
    number = tid.rpartition(" ")[2]
    return int(number) if number.isdecimal() and len(number) < 18 else -1


def small(value: int | str, default: int) -> int:
    """The value where it is a number that fits 32 bits, else the default."""
    return value if isinstance(value, int) and abs(value) < 1 << 31 else default
