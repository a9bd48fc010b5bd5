"""The stages of a recording: which steps of the script are recorded, and how.

    FULL    with places, shapes and memory: the evidence, and much slower than the script alone
    LIGHT   times of ops, ranges and launches: what they cost, hardly slower
    BARE    only the end of each step is noted: how long steps take with nothing recorded
    SKIP    nothing

A recorder takes its stages one after another and ends after the last. The first step of LIGHT and
of BARE only warms up: it begins while the recorder changes over, and finds other caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

FULL, LIGHT, BARE, SKIP = "full", "light", "bare", "skip"
RECORDED = frozenset({FULL, LIGHT})
_ANY_TIME = 1e9  # seconds
_BARE_STEPS = 50  # they cost nothing, and more of them make a better median
MOST_ROUNDS = 20  # of a job without end
ROUND = (FULL, LIGHT, BARE, SKIP)  # the stages of one recording, and up to the next


class Stage(NamedTuple):
    """How so many steps are recorded, for so long at the most."""

    how: str
    steps: int
    seconds: float


def stages_of(settings: dict[str, Any]) -> Iterator[Stage]:
    """One recording of `steps` steps after `warmup` others, and `after` as many before those.

    With `every` there is one more each so many steps.

    Args:
        settings: of `tidy run`; with `stop_after` no step is run that is not needed.
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
    """How many steps one recording takes with all its stages."""
    return sum(stage.steps for stage in _recording(settings))


def round_of(stage: int) -> int:
    """The number of the recording that a recorded stage is of; both count from 0.

    It does not matter whether a stage of SKIP came before the first: none of a recording is fourth.
    """
    return stage // len(ROUND)


def _recording(settings: dict[str, Any]) -> Iterator[Stage]:
    steps, seconds = settings["steps"], settings["seconds"]
    bare = steps if settings["stop_after"] else max(steps, _BARE_STEPS)
    yield Stage(FULL, settings["warmup"] + steps, seconds)
    yield Stage(LIGHT, 1 + steps, seconds)
    yield Stage(BARE, 1 + bare, seconds)
