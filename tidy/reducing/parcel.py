"""A trace, and what rules say of it, on their way to another process."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from ..finding import Outcome
from ..trace import Trace


@dataclass(frozen=True)
class Parcel:
    """A trace as it was read, without what was found out about it since.

    Attributes:
        data: the trace without its columns.
        columns: these, which are not copied to be sent.
    """

    data: bytes
    columns: list[pickle.PickleBuffer]

    @classmethod
    def of(cls, trace: Trace) -> Parcel:
        """Pack a trace. Rules leave functions in its caches, so that it is done before them."""
        columns: list[pickle.PickleBuffer] = []
        return cls(pickle.dumps(trace, 5, buffer_callback=columns.append), columns)

    @property
    def nbytes(self) -> int:
        """Its size."""
        return len(self.data) + sum(each.raw().nbytes for each in self.columns)

    def trace(self) -> Trace:
        """Unpack the trace."""
        unpacked: Trace = pickle.loads(self.data, buffers=self.columns)  # noqa: S301 - our own
        return unpacked


def pack_outcomes(outcomes: Mapping[str, Outcome], trace: Trace) -> bytes | None:
    """Pack what rules say of a trace, without the trace, which is there where it is unpacked.

    Returns:
        None if a rule's own value cannot be packed, or not be unpacked again.
    """
    file = BytesIO()
    try:
        _Packer(file, trace).dump(dict(outcomes))
        unpack_outcomes(file.getvalue(), trace)
    except Exception:  # whatever a value raises that is not made to be sent
        return None
    return file.getvalue()


def unpack_outcomes(packed: bytes, trace: Trace) -> dict[str, Outcome]:
    """Unpack what rules say of this trace."""
    outcomes: dict[str, Outcome] = _Unpacker(BytesIO(packed), trace).load()
    return outcomes


class _Packer(pickle.Pickler):
    def __init__(self, file: BytesIO, trace: Trace) -> None:
        super().__init__(file, 5)
        self._trace = trace

    def persistent_id(self, obj: Any) -> str | None:
        return "trace" if obj is self._trace else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: BytesIO, trace: Trace) -> None:
        super().__init__(file)
        self._trace = trace

    def persistent_load(self, pid: Any) -> Trace:
        return self._trace
