"""Comparing tables and averages of tidy with PyTorch's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tidy.averages import EventList

_NUMBER = re.compile(r"(-?[\d.]+)(.*)", re.DOTALL)
_TOTAL = "Self CPU time total: "
_EXACT = (
    "key",
    "count",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "is_user_annotation",
    "is_async",
    "is_legacy",
    "is_remote",
    "node_id",
)
_TIMES = (
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_time",
    "device_time_total",
    "self_device_time_total",
    "device_time",
)


def assert_same_averages(ours: EventList, theirs: Iterable[Any], *, flops: bool = True) -> None:
    """Rows in the same order with the same values; times to a thousandth of a nanosecond."""
    theirs = list(theirs)
    assert [average.key for average in ours] == [average.key for average in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        for name in (*_EXACT, *(["flops"] if flops else [])):
            assert getattr(mine, name) == getattr(other, name), (mine.key, name)
        for name in _TIMES:
            difference = abs(getattr(mine, name) - getattr(other, name))
            assert difference < 1e-5, (mine.key, name)
        assert list(mine.stack) == list(other.stack), mine.key
        assert str(mine.input_shapes) == str(other.input_shapes)
        assert (mine.cpu_parent is None) == (other.cpu_parent is None), mine.key


def whole_nanoseconds(averages: Any) -> Any:
    """PyTorch's averages with times rounded to nanoseconds.

    It adds up binary floats, so that of two equal sums one may come out larger and be sorted first.
    """
    for average in averages:
        for name in _TIMES:
            if name.endswith("_total"):
                setattr(average, name, round(getattr(average, name), 3))
    return averages


def assert_same_table(ours: str, theirs: str) -> None:
    """The same text; a number may differ in its last digit, where binary floats were summed."""
    mine, other = ours.split("\n"), theirs.split("\n")
    assert len(mine) == len(other)
    for left, right in zip(mine, other, strict=True):
        assert left == right or _nearly(left, right), f"\n{left}\n{right}"


def _nearly(left: str, right: str) -> bool:
    if len(left) != len(right):
        return False
    mine, other = re.split(r" {2,}", left), re.split(r" {2,}", right)
    if len(mine) != len(other):
        return False
    return all(a == b or _last_digit_differs(a, b) for a, b in zip(mine, other, strict=True))


def _last_digit_differs(left: str, right: str) -> bool:
    mine, other = (_NUMBER.fullmatch(cell.removeprefix(_TOTAL)) for cell in (left, right))
    if mine is None or other is None or mine[2] != other[2]:
        return False
    decimals = len(mine[1].partition(".")[2])
    return abs(float(mine[1]) - float(other[1])) < 1.5 * 10**-decimals
