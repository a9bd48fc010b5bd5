"""Text that worker processes read where this process has written it, in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory
from typing import Any

Parts = list[memoryview]


class SharedText:
    """Some texts, each in parts, as an argument of a function that runs in a worker.

    Args:
        parts: the texts.
        memory: where they are written for workers; None to send them. They stay the same until
            the task is over.
    """

    def __init__(self, parts: Sequence[memoryview], memory: SharedMemory | None = None) -> None:
        self.parts: Parts = [*parts]
        self.sizes = [part.nbytes for part in parts]
        self._memory = memory if memory is not None and sum(self.sizes) <= memory.size else None
        if self._memory is not None:
            at = 0
            for part in self.parts:
                _text_in(self._memory)[at : at + part.nbytes] = part
                at += part.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        if self._memory is None:
            return _received, (b"".join(self.parts), self.sizes)
        return _attached, (self._memory.name, self.sizes)


class TextMemory:
    """Shared memory for some texts at a time. Free it with `close`."""

    def __init__(self, count: int, nbytes: int) -> None:
        self._all: list[SharedMemory] = []
        with suppress(OSError):  # none is left: texts are sent
            for _ in range(count):
                self._all.append(SharedMemory(create=True, size=nbytes))
        self._next = 0

    def take(self) -> SharedMemory | None:
        """The memory that was taken longest ago."""
        if not self._all:
            return None
        self._next = (self._next + 1) % len(self._all)
        return self._all[self._next]

    def close(self) -> None:
        """Give all memory back."""
        for each in self._all:
            each.close()
            with suppress(OSError):
                each.unlink()
        self._all = []


_attached_to: dict[str, SharedMemory] = {}  # in a worker, which ends with it


def _attached(name: str, sizes: list[int]) -> SharedText:
    if name not in _attached_to:
        _attached_to[name] = SharedMemory(name)
    return SharedText(_cut(_text_in(_attached_to[name]), sizes))


def _text_in(memory: SharedMemory) -> memoryview:
    assert memory.buf is not None  # it is open
    return memory.buf


def _received(text: bytes, sizes: list[int]) -> SharedText:
    return SharedText(_cut(memoryview(text), sizes))


def _cut(text: memoryview, sizes: list[int]) -> Parts:
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return parts
