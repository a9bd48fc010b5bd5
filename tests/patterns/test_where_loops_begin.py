"""Loops that count up begin where their rounds begin, whatever took their first element before."""

from __future__ import annotations

import pytest

import tidy
from tidy.finding import Severity
from tidy.patterns.examples import AT, FRAME, joined, under
from tidy.trace.outline import parse_outline

_SELECT = "aten::select | float[16, 3], =0, ={at}\n"
_SLICE = "aten::slice | float[16, 8], =0, ={at}, ={after}, =1\n"
_MUL, _FLIP = "aten::mul 5us\n", "aten::flip 5us\naten::mul 5us\n"
_EXP = "aten::exp 5us\n"
_PRODUCT, _READ = "aten::mm 5us\n", "aten::mm 5us\naten::item\n"
_BACKWARD = "autograd::engine::evaluate_function: MmBackward0\n"
_TRAINING = "aten::mm 5000us\n" + _BACKWARD


def _rounds(head: str, *bodies: str, count: int = 16, first: int = 0) -> str:
    """Rounds that take one of these forms each, in an order that does not repeat soon."""
    each = [bodies[(3 * at + at // 4) % len(bodies)] for at in range(first, count)]
    return "".join(head.format(at=at, after=at + 1) + body for at, body in enumerate(each, first))


def _found(text: str, code: str) -> list[tidy.Finding]:
    return list(tidy.check(parse_outline(text), select=[code]).findings)


def _taken_before(head: str, *numbers: int) -> str:
    takings = (head.format(at=at, after=at + 1) + "aten::mul 5us\n" for at in numbers)
    return under("other.py(3): probe", *takings)


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("between", ["aten::mm 5000us\n", _TRAINING], ids=["work", "training"])
@pytest.mark.parametrize(
    ("code", "head", "bodies"),
    [("TDY404", _SELECT, (_MUL, _FLIP)), ("TDY406", _SLICE, (_MUL,))],
    ids=["elements", "samples"],
)
def test_what_takes_the_first_elements_before_is_no_round(
    code: str, head: str, bodies: tuple[str, ...], between: str, first: int
) -> None:
    """`first` is the element that the loop begins with; those before, or it too, are elsewhere."""
    before = joined(*(_taken_before(head, at) + between * (1 + at) for at in range(max(first, 1))))
    (found,) = _found(before + under(FRAME, _rounds(head, *bodies, first=first)), code)
    assert str(found.location) == AT
    assert found.message.startswith(f"{16 - first} ")
    assert found.cost is not None
    assert found.cost.ns < 1_000_000


@pytest.mark.parametrize(
    ("code", "head", "bodies"),
    [("TDY404", _SELECT, (_MUL, _FLIP)), ("TDY406", _SLICE, (_MUL,))],
    ids=["elements", "samples"],
)
def test_a_round_that_trains_makes_none(code: str, head: str, bodies: tuple[str, ...]) -> None:
    """As a loop over batches that one tensor holds, which trains with some of them."""
    rounds = _rounds(head, *bodies).replace(head.format(at=9, after=10), _BACKWARD + head, 1)
    assert _found(under(FRAME, rounds.format(at=9, after=10)), code) == []


def test_products_are_batched_whatever_branch_follows() -> None:
    (found,) = _found(under(FRAME, _rounds(_SELECT, _PRODUCT, _READ)), "TDY404")
    assert "batch them" in found.message
    assert "where" not in found.message
    assert found.severity == Severity.INFO


def test_stretches_of_a_loop_with_branches_have_its_branches() -> None:
    """Most rounds go one way; where all do, the loop is the same nevertheless."""
    some = {7, 18, 29}
    walk = "".join(
        _SELECT.replace("16", "40").format(at=at) + (_FLIP if at in some else _EXP)
        for at in range(40)
    )
    alike = _rounds(_SELECT.replace("16", "40"), _EXP, count=40)
    (found,) = _found(under(FRAME, walk, alike), "TDY404")
    assert found.severity == Severity.INFO
    assert "branch" in found.message
    (plain,) = _found(under(FRAME, alike), "TDY404")
    assert plain.severity == Severity.WARNING
    at_no_line = _found(walk + "aten::mm\n" + _rounds(_SELECT, "aten::tanh\n"), "TDY404")
    assert {each.severity for each in at_no_line} == {Severity.INFO, Severity.WARNING}


@pytest.mark.parametrize(
    ("ops", "severity"),
    [
        ("select fill_", Severity.WARNING),
        ("select tanh", Severity.WARNING),
        ("select mul", Severity.INFO),
        ("select tanh sin", Severity.INFO),
        ("select item select fill_", Severity.INFO),
    ],
)
def test_without_shapes_only_rounds_that_surely_need_no_other_are_warnings(
    ops: str, severity: Severity
) -> None:
    a_round = "".join(f"aten::{name} 5us\n" for name in ops.split())
    (found,) = _found(under(FRAME, a_round * 12), "TDY404")
    assert found.severity == severity
    assert ("record_shapes" in found.message) == (severity == Severity.INFO)
