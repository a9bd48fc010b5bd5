"""Which functions are left alone, by a log of lines and by when operators began."""

from __future__ import annotations

import math
import sys
from array import array
from types import CodeType

import pytest

from tidy.run.child.purity import MANY_LINES, Purity

CALLS, LINES = 600, 40  # of `pure`


def pure() -> None:
    """Called often."""


def starts() -> None:
    """As often, and an operator begins in each call."""


def calls_starts() -> None:
    """Runs many lines, and calls `starts`."""
    starts_itself()


def starts_itself() -> None:
    """Notes who called it."""
    purities[-1].called(sys._getframe())


purities: list[Purity] = []
_CODES: list[CodeType] = [each.__code__ for each in (pure, starts, calls_starts, starts_itself)]


def _log(*, with_stray_ends: bool) -> tuple[array[int], list[int]]:
    """What a piece logs, and when operators begin in it."""
    log, begins = array("q"), list[int]()
    for _ in range(CALLS):
        for number in range(len(_CODES)):
            at = len(log) // 3
            log.extend((at, number, -1))
            for line in range(2, LINES):
                log.extend((at + line - 1, number, line))
            if with_stray_ends and number == 1:  # of a call whose beginning was not logged
                log.extend((at + LINES - 2, 0, 0))
            if number in (1, 3):
                begins.append(at + LINES - 2)
            log.extend((at + LINES - 1, number, 0))
    return log, begins


@pytest.mark.parametrize("many_lines", [MANY_LINES, math.inf])
@pytest.mark.parametrize("with_stray_ends", [False, True])
def test_functions_that_start_operators_and_their_callers_are_not_left_alone(
    many_lines: float, with_stray_ends: bool
) -> None:
    purity = Purity(lambda file: file == __file__, many_lines)
    purities.append(purity)
    calls_starts()
    log, begins = _log(with_stray_ends=with_stray_ends)
    purity.learn([log.tobytes()], _CODES, lambda: begins)
    assert set(purity.line_counts) == {id(pure.__code__)}


def test_one_operator_among_very_many_lines_is_not_worth_its_line() -> None:
    log, begins = _log(with_stray_ends=False)
    rare = [*begins[:4], LINES // 2]  # the last one in `pure`
    found = []
    for many_lines in (MANY_LINES, math.inf):
        purity = Purity(lambda file: file == __file__, many_lines)
        purity.learn([log.tobytes()], _CODES, lambda: sorted(rare))
        found.append(set(purity.line_counts))
    assert found[0] == set(map(id, _CODES))
    assert found[1] == {id(calls_starts.__code__)}


def test_one_that_starts_operators_later_is_no_longer_left_alone() -> None:
    purity = Purity(lambda file: file == __file__, MANY_LINES)
    log, begins = _log(with_stray_ends=False)
    purity.learn([log.tobytes()], _CODES, list)
    assert id(starts.__code__) in purity.line_counts
    purity.learn([log.tobytes()], _CODES, lambda: begins)
    assert id(starts.__code__) not in purity.line_counts
