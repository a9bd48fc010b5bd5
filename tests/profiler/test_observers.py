"""The recording against a plain observer: the same operators, nested in the same way."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

import tidy.runtime as rt
from tidy.profiler import profile
from tidy.runtime.observe.callbacks import add_callback
from tidy.runtime.observe.record import RecordFunction
from tidy.trace.kinds import EventKind

from .workloads import WORKLOADS, mlp, on_thread

pytestmark = pytest.mark.filterwarnings("ignore")


class _Nesting:
    """Names with those of all that is around them, as calls enter and leave."""

    def __init__(self) -> None:
        self.found: Counter[tuple[str, ...]] = Counter()
        self._open: dict[int, list[str]] = {}

    def enter(self, record: RecordFunction) -> list[str]:
        stack = self._open.setdefault(threading.get_ident(), [])
        stack.append(record.name)
        self.found[tuple(stack)] += 1
        return stack

    def leave(self, record: RecordFunction, stack: list[str]) -> None:
        assert stack.pop() == record.name


def _paths(prof: profile) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for event in prof.trace.dfs():
        if event.kind in (EventKind.TorchOp, EventKind.Annotation):
            near = [e for e in event.ancestors() if e.track == event.track]
            names = [e.name for e in near if e.kind != EventKind.PyCall]
            found[(*names[::-1], event.name)] += 1
    return found


@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize("name", sorted(set(WORKLOADS) - {"ranges"}))
def test_an_observer_beside_it_sees_the_same_nesting(name: str, stacks: bool) -> None:
    seen = _Nesting()
    handle = add_callback(seen.enter, seen.leave)
    try:
        with profile(with_stack=stacks) as prof:
            WORKLOADS[name]()
    finally:
        handle.remove()
    assert _paths(prof) == seen.found


# A range's name is mended.
_NOT_ALONE = {"ranges"}


@pytest.mark.parametrize("name", sorted(set(WORKLOADS) - _NOT_ALONE))
def test_alone_it_sees_what_an_observer_sees_alone(name: str) -> None:
    seen = _Nesting()
    rt.manual_seed(0)
    handle = add_callback(seen.enter, seen.leave)
    try:
        WORKLOADS[name]()
    finally:
        handle.remove()
    rt.manual_seed(0)
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as prof:
        WORKLOADS[name]()
    assert _paths(prof) == seen.found


def _pairs(prof: profile) -> dict[str, str]:
    """Node: the operator that its link goes to."""
    return {e.name: e.forward.name for e in prof.trace.dfs() if e.forward is not None}


_LINKS = {
    "AddmmBackward0": "aten::addmm",
    "TBackward0": "aten::t",
    "ReluBackward0": "aten::relu",
    "SumBackward0": "aten::sum",
}


def _loss() -> Any:
    return mlp()(rt.ones(2, 4)).sum()


def test_each_node_is_linked_to_the_operator_that_made_it() -> None:
    with profile() as prof:
        _loss().backward()
    assert _pairs(prof) == _LINKS


def test_sequence_numbers_are_those_of_the_nodes() -> None:
    x, numbers = rt.ones(3, requires_grad=True), {}
    with profile() as prof:
        for function in (rt.exp, rt.tanh, rt.sigmoid):
            x = function(x)
            numbers[x.grad_fn.name()] = (function.__name__, x.grad_fn.sequence_nr)
            x.detach() + 1  # makes no node
        x.sum().backward()
    for node, (name, number) in numbers.items():
        (backward,) = prof.trace.named(node)
        (forward,) = prof.trace.named(f"aten::{name}")
        assert backward.sequence_nr == forward.sequence_nr == number
        assert backward.forward == forward
    assert {e.sequence_nr for e in prof.trace.named("aten::add")} == {-1}


def test_links_from_a_worker_to_the_main_thread() -> None:
    with profile() as prof:
        on_thread(_loss).backward()
    assert _pairs(prof) == _LINKS


def test_links_from_the_main_thread_to_a_worker() -> None:
    with profile() as prof:
        loss = _loss()
        on_thread(loss.backward)
    assert _pairs(prof) == _LINKS


def _scaled(power: int) -> Any:
    """A graph that is longer the greater the number is."""
    x = rt.ones(2, requires_grad=True)
    for _ in range(power):
        x = x.exp()
    return x.sum()


@pytest.mark.parametrize("stacks", [False, True])
def test_threads_that_ended_are_told_apart(stacks: bool) -> None:
    """Python gives the number of a thread that has ended to the next one."""
    with profile(with_stack=stacks) as prof:
        losses = [on_thread(lambda p=p: _scaled(p), f"side {p}") for p in (3, 1, 2)]
        for loss in losses:
            loss.backward()
    nodes = list(prof.trace.named("ExpBackward0"))
    found = [e.forward for e in nodes]
    assert None not in found
    assert len({e.row for e in found if e}) == 6
    assert [e.track for e in found if e] == sorted((e.track for e in found if e), key=_first(found))
    assert len({e.track for e in found if e}) == 3
    names = prof.piece.thread_names.values()
    assert {"side 1", "side 2", "side 3"} <= set(names)


def _first(found: list[Any]) -> Any:
    order = list(dict.fromkeys(e.track for e in found))
    return order.index


def test_several_threads_at_once() -> None:
    barrier, losses = threading.Barrier(3), {}

    def work(power: int) -> None:
        barrier.wait()
        losses[power] = _scaled(power)
        barrier.wait()

    with profile(record_shapes=True) as prof:
        threads = [threading.Thread(target=work, args=(p,)) for p in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for loss in losses.values():
            loss.backward()
    links = [e.forward for e in prof.trace.named("ExpBackward0")]
    assert len({e.row for e in links if e}) == 6
    assert len({e.track for e in prof.trace.named("aten::exp")}) == 3


def test_a_range_that_is_open_at_the_end_ends_there() -> None:
    with profile() as prof:
        mine = rt.record_function("mine")
        mine.__enter__()
        rt.ones(2)
    mine.__exit__()
    (found,) = prof.trace.named("mine")
    (inside,) = prof.trace.named("aten::ones")
    assert inside.parent == found
    assert inside.end_ns <= found.end_ns


def test_an_error_in_a_range_ends_it() -> None:
    with profile() as prof:
        with pytest.raises(KeyError), rt.record_function("mine"):
            raise KeyError
        rt.ones(2)
    (inside,) = prof.trace.named("aten::ones")
    assert inside.parent is None
