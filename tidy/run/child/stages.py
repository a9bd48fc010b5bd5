"""The stages of a recording: which steps of the script are recorded, and how.

    FULL    with places, shapes and memory: the evidence, and much slower than the script alone
    LIGHT   times of ops, ranges and launches: what they cost, hardly slower
    BARE    only the end of each step is noted: how long steps take with nothing recorded
    SKIP    nothing

A recorder takes its stages one after another and ends after the last. The first step of LIGHT and
of BARE only warms up: it begins while the recorder changes over, and finds other caches. What is
recorded is cut in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .kept import time

FULL, LIGHT, BARE, SKIP = "full", "light", "bare", "skip"
RECORDED = frozenset({FULL, LIGHT})
_ANY_TIME = 1e9  # seconds
_BARE_STEPS = 50  # they cost nothing, and more of them make a better median
MOST_ROUNDS = 20  # of a job without end
ROUND = (FULL, LIGHT, BARE, SKIP)  # the stages of one recording, and up to the next
_FIRST_NS, _SHORTEST_NS = 50_000_000, 50_000_000
_LONGEST_NS = 800_000_000  # a process that is killed loses about the last second
_NBYTES = 12 << 20  # about what a piece should be; PyTorch takes eight times that to make it
_WAIT_NS = 200_000_000  # for the end of a step, and of an optimizer's work
# Steps of very many small ops take long to put together, and so many of them tell what there is;
# ten are too long that are more than this part of the most that is to be recorded.
_ENOUGH_STEPS, _USUAL_STEPS, _LARGE = 4, 10, 1 / 8


class Stage(NamedTuple):
    """So many steps, recorded in one way, for so long at the most.

    Where `steps` of them would be more than `nbytes`, `enough` do, which is 0 where none do.
    """

    how: str
    steps: int
    seconds: float
    enough: int = 0
    nbytes: int = 0


def stages_of(settings: dict[str, Any]) -> Iterator[Stage]:
    """Return the stages of one recording: `steps` steps after `warmup` others, and `after` as many
    before those.

    With `every` there is one more each so many steps; `stop_after` runs none that is not needed.
    """
    if settings["after"]:
        yield Stage(SKIP, settings["after"], _ANY_TIME)
    yield from _recording(settings)
    if settings["every"]:
        rest = settings["every"] - steps_of_round(settings)
        for _ in range(MOST_ROUNDS - 1):
            yield Stage(SKIP, rest, _ANY_TIME)
            yield from _recording(settings)


def steps_of_round(settings: dict[str, Any]) -> int:
    """Count how many steps one recording takes with all its stages."""
    return sum(stage.steps for stage in _recording(settings))


def round_of(stage: int) -> int:
    """Return the number of the recording that a recorded stage is of; both count from 0."""
    # A stage of SKIP before the first does not matter: none of a recording is fourth.
    return stage // len(ROUND)


def _recording(settings: dict[str, Any]) -> Iterator[Stage]:
    steps, seconds = settings["steps"], settings["seconds"]
    bare = steps if settings["stop_after"] else max(steps, _BARE_STEPS)
    enough = min(steps, _ENOUGH_STEPS)
    large = int(settings["max_size"] * _LARGE * max(1.0, steps / _USUAL_STEPS))
    for how, before in ((FULL, settings["warmup"]), (LIGHT, 1)):
        yield Stage(how, before + steps, seconds, before + enough, large)
    yield Stage(BARE, 1 + bare, seconds)


class StageRun:
    """One stage after another.

    Attributes:
        stage, number: the one under way; numbers count from 0.
        step_count, nbytes: its steps and how much was written, so far.
        end_ns: when it is over, on the real clock.
    """

    def __init__(self, stages: Iterator[Stage]) -> None:
        self._stages = stages
        self.stage = next(stages)
        self._planned, self._behind = self.stage.steps, 0  # steps that were to be in it, and before
        self.number = self.step_count = self.nbytes = self.end_ns = 0

    @property
    def how(self) -> str:
        return self.stage.how

    @property
    def has_all_steps(self) -> bool:
        """Tell whether it is over: it has all its steps, or enough that are large."""
        return self.step_count >= self.stage.steps or self.is_large

    @property
    def is_large(self) -> bool:
        """Tell whether fewer steps than were asked for are enough."""
        enough = self.stage.enough
        return 0 < enough <= self.step_count and self.nbytes > self.stage.nbytes

    def set_end(self) -> None:
        self.end_ns = time.time_ns() + int(self.stage.seconds * 1e9)

    def is_late(self, now_ns: int = 0) -> bool:
        return (now_ns or time.time_ns()) > self.end_ns

    def why_short(self) -> str:
        """Say why it ends with fewer steps than it was to have; "" where it does not."""
        if self.step_count >= self.stage.steps:
            return ""
        return "out_of_time" if self.is_late() else "large" if self.is_large else ""

    def go_on(self) -> bool:
        """Take the next one, if there is any."""
        stage = next(self._stages, None)
        if stage is None:
            return False
        if self.how != SKIP:
            self._behind += self._planned - self.step_count
        self._planned = steps = stage.steps
        if stage.how == SKIP:  # so that the next one begins where it was to
            steps, self._behind = max(1, steps + self._behind), 0
        elif stage.how == BARE:  # where size or time cut the others short
            steps = min(steps, 1 + max(_BARE_STEPS, self.step_count))
        self.stage = stage._replace(steps=steps)
        self.number += 1
        self.step_count = self.nbytes = 0
        return True


class PieceLength:
    """Short at first, then at most twice as long as the one before, and never too large.

    Attributes:
        piece_ns: how long the next piece is to be.
        cut_ns: from when on the piece is to be cut at a step, which is a better place for it.
        late_ns: from when on it is to be cut anywhere, but where that can wait a little longer.
    """

    def __init__(self) -> None:
        self.piece_ns = _FIRST_NS
        self._fitting_ns, self._has_steps = _LONGEST_NS, False
        self._began_ns = self.cut_ns = self.late_ns = self._due_ns = 0

    def begin(self) -> None:
        self._began_ns, self._due_ns = time.time_ns(), 0
        self.cut_ns = self._began_ns + self.piece_ns
        self.late_ns = self.cut_ns
        if self._has_steps:
            self.late_ns += min(self.piece_ns, _WAIT_NS)

    def has_waited(self) -> bool:
        """Tell whether a cut that is due waits for so long, since this was first asked, that any
        place will do.
        """
        now = time.time_ns()
        self._due_ns = self._due_ns or now
        return now > self._due_ns + _WAIT_NS

    def took(self, stopped_ns: int, nbytes: int, step_count: int) -> None:
        """Note that the piece that was stopped then takes so many bytes, and has so many ends of
        steps.
        """
        self._has_steps = step_count > 0
        fitting_ns = (stopped_ns - self._began_ns) * _NBYTES // max(1, nbytes)
        self._fitting_ns = max(_SHORTEST_NS, min(fitting_ns, _LONGEST_NS))
        self.piece_ns = min(self._fitting_ns, 2 * self.piece_ns)

    def begin_stage(self) -> None:
        """Begin anew with what fits: what is recorded now may take another size."""
        self.piece_ns = self._fitting_ns
