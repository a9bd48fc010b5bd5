"""What an observer is shown of a call."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple


class RecordScope(IntEnum):
    """What kind of call it is: an operator, a node of a backward, or a range of the user's own."""

    FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7


class RecordFunction(NamedTuple):
    """One call being observed. Source: aten/src/ATen/record_function.h."""

    name: str
    scope: RecordScope
    inputs: tuple[Any, ...]
    sequence_nr: int  # of the node that the call makes, or is; -1 where there is none
    forward_thread_id: int  # of a node: the thread that made it, or 0
