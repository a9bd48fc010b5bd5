"""How many steps of a script each stage of its recording takes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tidy.run.child.stages import BARE, FULL, LIGHT, SKIP, PieceLength, StageRun, stages_of

_SETTINGS = {
    "after": 0,
    "every": 0,
    "warmup": 1,
    "seconds": 60.0,
    "stop_after": False,
    "max_size": 400_000_000,
}


def _taken(settings: dict[str, Any], cut_after: int) -> dict[str, int]:
    """The steps of each stage, where recorded ones are cut short after so many."""
    run, taken = StageRun(stages_of(settings)), dict[str, int]()
    while True:
        most = cut_after if run.how != BARE else run.stage.steps
        while not run.has_all_steps and run.step_count < most:
            run.step_count += 1
        taken[run.how] = run.step_count
        if not run.go_on():
            return taken


@pytest.mark.parametrize(
    ("steps", "cut_after", "timed"),
    [
        (10, 1_000, 51),  # 50 make a good median
        (200, 1_000, 201),
        (100_000, 300, 301),  # size or time was over
        (100_000, 5, 51),
    ],
)
def test_no_more_steps_are_timed_than_were_recorded(steps: int, cut_after: int, timed: int) -> None:
    taken = _taken({**_SETTINGS, "steps": steps}, cut_after)
    assert taken[FULL] == min(cut_after, 1 + steps)
    assert taken[LIGHT] == min(cut_after, 1 + steps)
    assert taken[BARE] == timed


@pytest.mark.parametrize("step_count", [0, 3])
def test_a_piece_waits_for_a_step_where_there_are_any(step_count: int) -> None:
    length = PieceLength()
    length.begin()
    assert length.late_ns == length.cut_ns  # what comes before the first step may be much
    length.took(length.cut_ns, nbytes=1_000, step_count=step_count)
    length.begin()
    assert (length.late_ns > length.cut_ns) == (step_count > 0)


def test_pieces_grow_as_far_as_their_size_allows() -> None:
    length, lengths = PieceLength(), list[int]()
    for _ in range(8):
        length.begin()
        lengths.append(length.piece_ns)
        length.took(length.cut_ns, nbytes=length.piece_ns // 10_000, step_count=1)
    assert all(later <= 2 * earlier for earlier, later in pairwise(lengths))
    assert lengths[-1] > 4 * lengths[0]
    length.begin()
    length.took(length.cut_ns, nbytes=1 << 30, step_count=1)
    assert length.piece_ns < lengths[-1] / 4


def _steps_of(settings: dict[str, Any], step_nbytes: int) -> list[tuple[str, int]]:
    """The stages up to the third recording and their steps, each of which takes so many bytes."""
    run, taken = StageRun(stages_of({**_SETTINGS, **settings})), list[tuple[str, int]]()
    run.end_ns = 1 << 63
    while len(taken) < 8:
        while not run.has_all_steps:
            run.step_count += 1
            run.nbytes += step_nbytes
        taken.append((run.how, run.step_count))
        assert run.go_on() or not settings.get("every")
        run.end_ns = 1 << 63
    return taken


@pytest.mark.parametrize(
    ("steps", "step_nbytes", "recorded"),
    [
        (10, 1_000_000, 11),
        (10, 30_000_000, 5),  # four of them, and the one before
        (10, 8_000_000, 7),  # the first that make more than 50 MB
        (100, 8_000_000, 63),  # who asks for ten times as many gets more
        (3, 90_000_000, 4),
    ],
)
def test_fewer_steps_are_enough_where_they_are_large(
    steps: int, step_nbytes: int, recorded: int
) -> None:
    settings = {"steps": steps, "every": 1_000}
    stages = _steps_of(settings, step_nbytes)
    assert [each for each, _ in stages] == [FULL, LIGHT, BARE, SKIP] * 2
    assert stages[0] == (FULL, recorded)
    # The next recording begins where it was to begin.
    assert sum(count for _, count in stages[:4]) == 1_000
    assert sum(count for _, count in stages[4:]) == 1_000


def test_with_room_for_more_all_steps_are_recorded() -> None:
    settings = {"steps": 10, "every": 1_000, "max_size": 4_000_000_000}
    assert _steps_of(settings, 30_000_000)[0] == (FULL, 11)
