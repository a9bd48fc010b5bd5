"""Steps that a CUDA graph holds: one that an optimizer makes while it is captured does not run, but
each replay of that graph does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kept import weakref
from .patches import Patches


class GraphSteps:
    """Tells when a graph is replayed that holds an optimizer's step.

    Args:
        cuda: the framework's module `torch.cuda`.
        on_replay: is called before each such replay: the round before it is over.
    """

    def __init__(self, cuda: Any, on_replay: Callable[[], object]) -> None:
        self._cuda, self._on_replay = cuda, on_replay
        self._patches = Patches()
        self._has_step = False  # the graph that is being captured
        self._graphs: list[Any] = []  # weak references

    def is_captured(self) -> bool:
        """Whether the step that an optimizer just made becomes part of a graph."""
        cuda = self._cuda
        if not cuda.is_initialized() or not cuda.is_current_stream_capturing():
            return False
        if not self._has_step:
            self._has_step = True
            self._patches.call_first(cuda.CUDAGraph, "capture_end", self._captured)
        return True

    def _captured(self, graph: Any) -> None:
        if not self._has_step:
            return
        self._has_step = False
        if not self._graphs:
            self._patches.call_first(self._cuda.CUDAGraph, "replay", self._replayed)
        self._graphs.append(weakref.ref(graph))

    def _replayed(self, graph: Any) -> None:
        if any(each() is graph for each in self._graphs):
            self._on_replay()

    def forget(self) -> None:
        """Put back what was there."""
        self._patches.undo()
