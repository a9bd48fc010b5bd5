"""Text that worker processes read where this process has written it, in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .workers import Workers, memory_of_worker


class SharedText:
    """A text in parts, as an argument of a function that runs in a worker.

    Args:
        parts: the parts.
        workers: in whose memory they are written; they stay there until its memory was taken for
            as many texts more. None, or a text that does not fit: they are sent.
    """

    def __init__(self, parts: Sequence[memoryview], workers: Workers | None = None) -> None:
        self.parts = [*parts]
        self._sizes = [part.nbytes for part in parts]
        self._number = workers.take_memory(sum(self._sizes)) if workers is not None else None
        if workers is not None and self._number is not None:
            memory, at = workers.memory[self._number], 0
            for part in self.parts:
                memory[at : at + part.nbytes] = part
                at += part.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the number of the memory, or the text."""
        if self._number is None:
            return _received, (b"".join(self.parts), self._sizes)
        return _shared, (self._number, self._sizes)


def _shared(number: int, sizes: list[int]) -> SharedText:
    return SharedText(_cut(memory_of_worker[number], sizes))


def _received(text: bytes, sizes: list[int]) -> SharedText:
    return SharedText(_cut(memoryview(text), sizes))


def _cut(text: memoryview, sizes: list[int]) -> list[memoryview]:
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return parts
