"""The stage of a recording that is under way, and how long its pieces are."""

from __future__ import annotations

from collections.abc import Iterator

from .kept import os, time
from .stages import Stage
from .worker_reports import queued_ns

_FIRST_NS, _SHORTEST_NS = 100_000_000, 50_000_000
_LONGEST_NS = 800_000_000  # a process that is killed loses about the last second
_NBYTES = 12 << 20  # about what a piece should be; PyTorch takes eight times that to make it
_WAIT_FOR_STEP_NS = 200_000_000


class StageRun:
    """One stage after another.

    Attributes:
        stage, number: the one under way; numbers count from 0.
        step_count, nbytes: its steps and how much was written, so far.
        end_ns: when it is over, on the real clock.
    """

    def __init__(self, stages: Iterator[Stage]) -> None:
        self._stages = stages
        self._queued_before: dict[str, int] = {}
        self.stage = next(stages)
        self.number = self.step_count = self.nbytes = self.end_ns = 0

    @property
    def how(self) -> str:
        return self.stage.how

    @property
    def has_all_steps(self) -> bool:
        return self.step_count >= self.stage.steps

    def set_end(self) -> None:
        """Its time begins now."""
        self.end_ns = time.time_ns() + int(self.stage.seconds * 1e9)

    def is_late(self, now_ns: int = 0) -> bool:
        """Whether its time is over."""
        return (now_ns or time.time_ns()) > self.end_ns

    def go_on(self) -> bool:
        """Take the next one, if there is any."""
        stage = next(self._stages, None)
        if stage is not None:
            self.stage = stage
            self.number += 1
            self.step_count = self.nbytes = 0
        return stage is not None

    def begin_piece(self) -> None:
        """From now on the time counts that threads wait for a processor."""
        self._queued_before = _queued_ns()

    def queued_ns(self) -> int:
        """How long threads that are still there have waited for one in the piece."""
        before = self._queued_before
        return sum(waited - before.get(each, 0) for each, waited in _queued_ns().items())


class PieceLength:
    """Short at first, then at most twice as long as the one before, and never too large.

    Attributes:
        piece_ns: how long the next piece is to be.
        cut_ns: from when on the piece is to be cut at a step, which is a better place for it.
        late_ns: from when on it is to be cut anywhere.
    """

    def __init__(self) -> None:
        self.piece_ns = _FIRST_NS
        self._fitting_ns = _LONGEST_NS
        self._began_ns = self.cut_ns = self.late_ns = 0

    def begin(self) -> None:
        """A piece begins now."""
        self._began_ns = time.time_ns()
        self.cut_ns = self._began_ns + self.piece_ns
        self.late_ns = self.cut_ns + min(self.piece_ns, _WAIT_FOR_STEP_NS)

    def took(self, stopped_ns: int, nbytes: int) -> None:
        """The piece that was stopped then takes so many bytes."""
        fitting_ns = (stopped_ns - self._began_ns) * _NBYTES // max(1, nbytes)
        self._fitting_ns = max(_SHORTEST_NS, min(fitting_ns, _LONGEST_NS))
        self.piece_ns = min(self._fitting_ns, 2 * self.piece_ns)

    def begin_stage(self) -> None:
        """What is recorded now may take another size."""
        self.piece_ns = self._fitting_ns


def _queued_ns() -> dict[str, int]:
    """How long each thread of this process has waited for a processor. Only Linux tells."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return {}
    return {each: queued_ns(f"self/task/{each}") for each in threads}
