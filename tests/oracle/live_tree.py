"""PyTorch's own event tree and ours, as the same kind of edges."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tidy import Trace

Place = tuple[str, int, int]  # name, start, duration
Edge = tuple[Place, Place | None]  # an event and its parent

_IN_TREE = frozenset({"TorchOp", "PyCall", "PyCCall"})


def edges_of_rows(rows: list[list[Any]]) -> Counter[Edge]:
    """From rows of (idx, parent, name, tag, start_ns, dur_ns, ...), a parent before its children.

    Allocations and the like are no events of ours; their children, if any, go one up.
    """
    place: dict[int, Place | None] = {-1: None}
    edges: Counter[Edge] = Counter()
    for index, parent, name, tag, start_ns, duration_ns, *_ in rows:
        if tag in _IN_TREE:
            place[index] = own = (name, start_ns, duration_ns)
            edges[own, place[parent]] += 1
        else:
            place[index] = place[parent]
    return edges


def edges_of_trace(trace: Trace) -> Counter[Edge]:
    places = [(event.name, event.start_ns, event.duration_ns) for event in trace.dfs()]
    parents = trace.parent[: trace.tree_count].tolist()
    return Counter(
        (place, places[parent] if parent >= 0 else None)
        for place, parent in zip(places, parents, strict=True)
    )


def rows_of(profiler: Any) -> list[list[Any]]:
    """The live tree of a `torch.profiler.profile` that has stopped, as rows."""
    rows: list[list[Any]] = []
    stack = [
        (event, -1)
        for event in reversed(profiler.profiler.kineto_results.experimental_event_tree())
    ]
    while stack:
        event, parent = stack.pop()
        index = len(rows)
        rows.append(
            [index, parent, event.name, event.tag.name, event.start_time_ns, event.duration_time_ns]
        )
        stack.extend((child, index) for child in reversed(event.children))
    return rows
