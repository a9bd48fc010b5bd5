"""The tree and the backward links of each recorded trace are those of PyTorch, live in that run."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from tidy import Trace

from .live_tree import Edge, edges_of_rows, edges_of_trace
from .shared import TREE, decoded, described_by, load, text_of, trace_of

_TREES = described_by(TREE)


def _trace_path(tree: Path) -> Path:
    return trace_of(tree, TREE)


@pytest.mark.parametrize("path", _TREES, ids=lambda path: path.name)
def test_every_parent(path: Path) -> None:
    live: Counter[Edge] = edges_of_rows(decoded(path)["rows"])
    read = edges_of_trace(load(_trace_path(path)))
    assert read.total() == live.total() > 0
    assert live - read == Counter()


_Place = tuple[object, int]


def _arrows(path: Path) -> set[tuple[_Place, _Place]]:
    """(forward, backward) for each `fwdbwd` arrow in the file, as (thread, start).

    Times are read as decimals: a double that is multiplied by 1000 can be a nanosecond off.
    """
    document = json.loads(text_of(path), parse_float=Decimal)
    base = document.get("baseTimeNanoseconds", 0)
    ends: dict[str, dict[int, _Place]] = {"s": {}, "f": {}}
    for event in document["traceEvents"]:
        if event.get("cat") == "fwdbwd":
            ends[event["ph"]][event["id"]] = (event["tid"], base + round(event["ts"] * 1000))
    return {(ends["s"][number], ends["f"][number]) for number in ends["s"]}


def _links(trace: Trace) -> set[tuple[_Place, _Place]]:
    def place(row: int) -> _Place:
        event = trace.event(row)
        return event.track.tid, event.start_ns

    return {(place(forward), place(backward)) for backward, forward in trace.forward.items()}


@pytest.mark.parametrize("path", _TREES, ids=lambda path: path.name)
def test_every_backward_link(path: Path) -> None:
    trace_path = _trace_path(path)
    assert _links(load(trace_path)) == _arrows(trace_path)


def test_the_trees_are_no_empty_claim() -> None:
    """Each of the two sets has tens of thousands of events."""
    for folder in {path.parent for path in _TREES}:
        events = [len(decoded(path)["rows"]) for path in _TREES if path.parent == folder]
        assert sum(events) > 20_000
