"""The tree and the backward links of each recorded trace are those of PyTorch, live in that run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidy import Trace

from .live_tree import Edge, edges_of_rows, edges_of_trace
from .shared import SUFFIX, TORCH_CPU, decoded, load, needs_traces

_TREES = sorted(TORCH_CPU.glob("*.tree.json.gz"))


def _trace_path(tree: Path) -> Path:
    return tree.with_name(tree.name.replace(".tree.json.gz", SUFFIX))


@pytest.mark.parametrize("path", _TREES, ids=lambda path: path.name)
def test_every_parent(path: Path) -> None:
    live: Counter[Edge] = edges_of_rows(decoded(path)["rows"])
    read = edges_of_trace(load(_trace_path(path)))
    assert read.total() == live.total() > 0
    assert live - read == Counter()


_Place = tuple[object, int]


def _arrows(document: Any) -> set[tuple[_Place, _Place]]:
    """(forward, backward) for each `fwdbwd` arrow in the file, as (thread, start)."""
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
    assert _links(load(trace_path)) == _arrows(decoded(trace_path))


@needs_traces
def test_the_trees_are_no_empty_claim() -> None:
    assert sum(len(decoded(path)["rows"]) for path in _TREES) > 50_000
