"""`self_check` names the invariant that a damaged table breaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tidy.trace import EventKind, Trace
from tidy.trace.outline import parse_outline

_OUTLINE = """
Optimizer.step#SGD.step
  aten::to 20us
    aten::copy_ seq=3
      cudaMemcpyAsync
        => Memcpy HtoD (Pageable -> Device) 3us 64B
  aten::add_
  aten::mul_
autograd::engine::evaluate_function: CopyBackward0 seq=3/1
aten::relu
"""
_TO, _COPY, _ADD = 1, 2, 3


def _parent_after_child(trace: Trace) -> None:
    trace.parent[_COPY] = _ADD


def _empty_subtree(trace: Trace) -> None:
    trace.subtree_end[_COPY] = _COPY


def _subtree_leaves_its_parent(trace: Trace) -> None:
    trace.subtree_end[_COPY] = _ADD + 1


def _negative_duration(trace: Trace) -> None:
    trace.duration_ns[_ADD] = -1


def _parent_starts_later(trace: Trace) -> None:
    trace.start_ns[_TO] = trace.start_ns[_COPY] + 1


def _parent_without_duration(trace: Trace) -> None:
    trace.duration_ns[_TO] = 0


def _siblings_swapped(trace: Trace) -> None:
    trace.start_ns[_ADD] = trace.start_ns[_ADD + 1] + 1


def _root_too_long(trace: Trace) -> None:
    trace.subtree_end[0] += 1


def _kernel_in_the_tree(trace: Trace) -> None:
    trace.kind[_ADD] = EventKind.Kernel


def _call_in_a_call(trace: Trace) -> None:
    calls = trace.rows_of_kind(EventKind.Runtime)
    trace.caller[calls] = calls


def _launched_by_a_kernel(trace: Trace) -> None:
    trace.caller[trace.device_rows] = trace.device_rows


def _forward_of_another_number(trace: Trace) -> None:
    trace.sequence_nr[list(trace.forward.values())] += 1


_BROKEN: dict[Callable[[Trace], None], str] = {
    _parent_after_child: "parents precede their children",
    _empty_subtree: "a subtree holds at least its root",
    _subtree_leaves_its_parent: "a subtree lies inside its parent's",
    _negative_duration: "durations are not negative",
    _parent_starts_later: "parents start no later",
    _parent_without_duration: "an event without duration is no parent",
    _siblings_swapped: "siblings come by start",
    _root_too_long: "subtrees of roots tile the tree",
    _kernel_in_the_tree: "tree kinds come first",
    _call_in_a_call: "calls run in tree rows",
    _launched_by_a_kernel: "device work is launched by calls",
    _forward_of_another_number: "forward and backward share a sequence number",
}


def test_a_sound_trace_passes() -> None:
    parse_outline(_OUTLINE).self_check()


@pytest.mark.parametrize("damage", _BROKEN, ids=lambda damage: damage.__name__.strip("_"))
def test_damage_is_named(damage: Callable[[Trace], None]) -> None:
    trace = parse_outline(_OUTLINE)
    for column in vars(trace).values():
        if isinstance(column, np.ndarray):
            column.setflags(write=True)
    damage(trace)
    with pytest.raises(AssertionError, match=_BROKEN[damage]):
        trace.self_check()
