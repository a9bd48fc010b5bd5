"""The stage of a recording that is under way, and what stages with nothing recorded noted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .kept import time
from .landmarks import Landmarks
from .queue_time import QueueTime
from .stages import Stage


class StageRun:
    """One stage after another.

    Attributes:
        stage, number: the one under way; numbers count from 0.
        step_count, nbytes: its steps and how much was written, so far.
        end_ns: when it is over, on the real clock.
        queue: how long threads wait for a processor in a piece.
    """

    def __init__(self, stages: Iterator[Stage]) -> None:
        self._stages, self.queue = stages, QueueTime()
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

    def facts(self, queued_ns: int) -> dict[str, Any]:
        """What a piece says of its stage, and of how long threads waited for a processor in it."""
        return {"how": self.stage.how, "stage": self.number, "queued_ns": queued_ns}

    def go_on(self) -> bool:
        """Take the next one, if there is any."""
        stage = next(self._stages, None)
        if stage is not None:
            self.stage = stage
            self.number += 1
            self.step_count = self.nbytes = 0
        return stage is not None


class BareStages:
    """The ends of steps, and landmarks, of stages with nothing recorded."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._ends_ns: list[list[int]] = []
        self._landmarks: list[Landmarks] = []

    def begin(self) -> None:
        """A stage begins."""
        self._landmarks.append(Landmarks(self._backend.ranges, self._backend.now_ns))
        self._ends_ns.append([self._backend.now_ns()])

    def add(self, end_ns: int) -> None:
        """A step ended."""
        self._ends_ns[-1].append(end_ns)

    def stop(self) -> None:
        """The stage is over; again does nothing."""
        for each in self._landmarks[-1:]:
            each.stop()

    def noted(self) -> dict[str, Any]:
        """What the state of the recording says of all of them."""
        landmarks = [each.noted for each in self._landmarks]
        return {"unrecorded_ns": self._ends_ns, "landmarks": landmarks}
