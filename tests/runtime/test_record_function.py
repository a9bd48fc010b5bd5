"""Ranges of the user's own: blocks and decorated functions."""

import pytest

import tidy.runtime as rt
from tidy.runtime.observe.callbacks import add_callback


@pytest.fixture
def seen():
    """(what happened, name) of each range, in order."""
    found: list[tuple[str, str]] = []
    with add_callback(
        lambda record: found.append(("begin", record.name)),
        lambda record, _: found.append(("end", record.name)),
    ):
        yield found


def test_a_decorated_function_is_a_range_at_each_call(seen):
    @rt.record_function("halve")
    def halve(n: int) -> int:
        return n if n < 2 else halve(n // 2)

    assert halve(4) == 1
    assert seen == [("begin", "halve")] * 3 + [("end", "halve")] * 3
    assert halve.__name__ == "halve"


def test_lists_of_tensors_have_sequence_numbers():
    numbers = {}
    x = rt.ones(2, requires_grad=True)
    with add_callback(lambda record: numbers.update({record.name: record.sequence_nr})):
        rt.cat([x, x]).sum().backward()
    assert numbers["aten::cat"] == numbers["CatBackward0"] >= 0
