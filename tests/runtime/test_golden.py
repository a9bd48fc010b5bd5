"""The runtime answers as PyTorch does: as it did when tests/data/golden was made, and today."""

from __future__ import annotations

from typing import Any

import pytest

import tidy.runtime as rt
from tidy.runtime.observe import autocast
from tidy.runtime.ops.foreach import OPERATORS

from .answers import is_as_recorded, read
from .questions import GROUPS, WRONG_CALLS, Group
from .questions_foreach import CALLS, EVERY
from .wrong_calls import LISTED

pytestmark = pytest.mark.filterwarnings("ignore")
each_group = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)


def _check(group: Group, theirs: dict[str, Any]) -> None:
    """No answer differs from PyTorch's but those that are listed, and each of those does."""
    differences = group.differences(group.answers(rt), theirs)
    unlisted = {k: v for k, v in differences.items() if group.subject(k) not in group.deviations}
    assert unlisted == {}
    assert group.deviations == {group.subject(key) for key in differences}


@each_group
def test_as_pytorch_said(group: Group) -> None:
    recorded = read(group.name)
    assert recorded.keys() == group.questions.keys(), "run tests/data/make_golden.py"
    _check(group, recorded)


@pytest.mark.oracle
@each_group
def test_as_pytorch_says(group: Group) -> None:
    """The recorded answers are those of today."""
    torch = pytest.importorskip("torch")
    theirs, recorded = group.answers(torch), read(group.name)
    assert theirs.keys() == recorded.keys()
    changed = [
        key
        for key, answer in theirs.items()
        # ASGD's step sizes are tensors, whose powers differ from processor to processor.
        if not is_as_recorded(answer, recorded.get(key), by_float32=key.startswith("ASGD"))
    ]
    assert changed == []


def test_no_deviation_is_listed_for_a_call_that_is_not_there() -> None:
    assert set(LISTED) <= WRONG_CALLS.questions.keys()


def test_every_operator_that_autocast_lists_is_asked_for() -> None:
    assert {*autocast.LOWER, *autocast.FLOAT32} <= {f"aten::{name}" for name in CALLS}


def test_every_foreach_operator_is_asked_for() -> None:
    assert set(OPERATORS) <= {name for name, _, _ in EVERY.values()}
