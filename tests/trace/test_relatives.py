"""What events say of their relatives is what follows from the parents alone."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given

from tidy.trace import Event, Trace

from .random_traces import host_traces


def _children(trace: Trace, row: int) -> list[int]:
    return [each for each, parent in enumerate(trace.parent.tolist()) if parent == row]


def _ancestors(trace: Trace, row: int) -> list[int]:
    parents: list[int] = trace.parent.tolist()
    above: list[int] = []
    while (row := parents[row]) >= 0:
        above.append(row)
    return above


def _preorder(trace: Trace, row: int) -> Iterator[int]:
    yield row
    for child in _children(trace, row):
        yield from _preorder(trace, child)


def _siblings(trace: Trace, row: int) -> list[int]:
    """All children of the same parent; of roots, those of the same thread."""
    parent = int(trace.parent[row])
    family = _children(trace, parent)
    return (
        family if parent >= 0 else [r for r in family if trace.track_id[r] == trace.track_id[row]]
    )


def _rows(events: list[Event]) -> list[int]:
    return [event.row for event in events]


@given(host_traces())
def test_invariants_hold(trace: Trace) -> None:
    trace.self_check()


@given(host_traces())
def test_children_come_by_start(trace: Trace) -> None:
    for event in trace.dfs():
        expected = _children(trace, event.row)
        assert _rows(event.children) == expected
        assert event.last_child == (trace.event(expected[-1]) if expected else None)
        starts = [child.start_ns for child in event.children]
        assert starts == sorted(starts)


@given(host_traces())
def test_ancestors_root_and_depth(trace: Trace) -> None:
    for event in trace.dfs():
        above = _ancestors(trace, event.row)
        assert [a.row for a in event.ancestors()] == above
        assert event.root.row == ([event.row, *above][-1])
        assert trace.depth[event.row] == len(above)


@given(host_traces())
def test_descendants_are_all_below(trace: Trace) -> None:
    for event in trace.dfs():
        below = [r for r in range(trace.tree_count) if event.row in _ancestors(trace, r)]
        assert [each.row for each in event.descendants()] == below


@given(host_traces())
def test_siblings_before_and_after(trace: Trace) -> None:
    for event in trace.dfs():
        family = _siblings(trace, event.row)
        at = family.index(event.row)
        before, after = event.siblings()
        assert (_rows(before), _rows(after)) == (family[:at], family[at + 1 :])
        assert event.previous_sibling == (trace.event(family[at - 1]) if at else None)
        assert event.next_sibling == (trace.event(family[at + 1]) if family[at + 1 :] else None)


@given(host_traces())
def test_orders_of_the_tree(trace: Trace) -> None:
    roots = [row for row in range(trace.tree_count) if trace.parent[row] < 0]
    depth_first = [row for root in roots for row in _preorder(trace, root)]
    assert _rows(list(trace.dfs())) == depth_first
    levels = [len(_ancestors(trace, row)) for row in depth_first]
    by_level = [
        r
        for level in range(len(levels))
        for r, at in zip(depth_first, levels, strict=True)
        if at == level
    ]
    assert _rows(list(trace.bfs())) == by_level


@given(host_traces())
def test_self_time_is_what_no_child_on_the_thread_covers(trace: Trace) -> None:
    for event in trace.dfs():
        own = set(range(event.start_ns, event.end_ns))
        for child in event.children:
            if child.track == event.track:
                own -= set(range(child.start_ns, child.end_ns))
        assert event.self_ns == len(own)


@given(host_traces())
def test_views_on_one_row_are_one_event(trace: Trace) -> None:
    views = [*trace.dfs(), *trace.dfs()]
    assert len(set(views)) == trace.tree_count
