"""Text for worker processes: in memory that this process shares with them, or in its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from .container import FilePlace
from .workers import Workers, memory_of_worker


class TextInFile(NamedTuple):
    """A text in parts, one behind the other, that each process reads from the file.

    Attributes:
        start: where the first part begins in the file.
        sizes: of the parts.
    """

    place: FilePlace
    start: int
    sizes: list[int]

    @property
    def parts(self) -> list[memoryview]:
        """Return the parts.

        Raises:
            OSError: the file can no longer be read, or is another one by now.
        """
        with open(self.place.path, "rb", buffering=0) as file:  # noqa: PTH123 - Path is slower
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) != (self.place.device, self.place.inode):
                raise OSError(f"{self.place.path} was replaced")
            file.seek(self.start)
            return _cut(memoryview(file.read(sum(self.sizes))), self.sizes)


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
    return [text[start:end] for start, end in pairwise(accumulate(sizes, initial=0))]
