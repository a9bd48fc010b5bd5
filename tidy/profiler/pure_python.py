"""Which functions are left out of a recording because they are pure Python, and many.

`tidy run` records so, piece after piece; `tidy.profile` records all functions there are. The time
of a function that is left out is that of its caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType

_FEWEST_CALLS = 32
_SHORT_NS = 20_000
_FEWEST_EVENTS = 8  # in a call for which it is worth to trace nothing
_MANY_EVENTS = 200  # for each operator: worth more than to know the functions it runs in
_GENERATOR = 0x20 | 0x80 | 0x200  # flags of code that is left before it has ended


@dataclass
class _Calls:
    code: CodeType  # keeps its identity from being used again
    count: int = 0
    duration_ns: int = 0
    events: int = 0
    ops: int = 0


@dataclass
class PurePython:
    """What is known of the functions that have run, by identity of their code.

    Attributes:
        left_out: short ones in which no operator ran.
        alone: those in which nothing is traced, since it hardly ever gives an operator.
    """

    left_out: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    _calls: dict[int, _Calls] = field(default_factory=dict)

    def ended(self, code: CodeType, duration_ns: int, events: int, ops: int) -> None:
        """Note a call: how many events of Python it had, and how many operators."""
        calls = self._calls.get(id(code))
        if calls is None:
            calls = self._calls[id(code)] = _Calls(code)
        calls.count += 1
        calls.duration_ns += duration_ns
        calls.events += events
        calls.ops += ops
        if calls.count < _FEWEST_CALLS:
            return
        if not calls.ops and calls.duration_ns < _SHORT_NS * calls.count:
            self.left_out.add(id(code))
        is_generator = code.co_flags & _GENERATOR
        is_large = calls.events >= _FEWEST_EVENTS * calls.count and not is_generator
        if is_large and calls.events >= _MANY_EVENTS * calls.ops:
            self.alone.add(id(code))
        else:
            self.alone.discard(id(code))
