"""What an observer sees changes nothing: values and gradients are those of an unobserved run."""

import threading
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.observe.arrangement import add_interposer, remove_interposer
from tidy.runtime.observe.callbacks import add_callback

from .observed import names_in
from .samples import step
from .test_ops import SAMPLES, ids


class Listener:
    """The least that an interposer does: it keeps names, in the order in which calls end."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def op(self, name: str, inner: Any, args: Any, kwargs: Any = None) -> Any:
        try:
            return inner(*args, **kwargs) if kwargs else inner(*args)
        finally:
            self.names.append(name)

    def node(self, node: Any, grads: Any, validate: Any) -> Any:
        outputs = node.apply(grads)
        self.names.append(node.name())
        return outputs if validate is None else validate(node, outputs)

    def backward(self, run: Any, *args: Any) -> Any:
        self.names.append("backward")
        return run(*args)

    def internal(self, run: Any, *args: Any) -> Any:
        return run(*args)

    def enter(self, record: Any) -> str:
        return record.name

    def exit(self, record: Any, context: str) -> None:
        assert context == record.name
        self.names.append(context)


@contextmanager
def listening(*listeners):
    for each in listeners:
        add_interposer(each)
    try:
        yield
    finally:
        for each in listeners:
            remove_interposer(each)


def _numbers(found):
    return [None if t is None else t.numpy(force=True) for t in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", SAMPLES, ids=ids)
def test_the_same_gradients(sample):
    """Also where backward records a graph, as it does for those compared with PyTorch's."""
    alone, recorded, found = step(rt, sample), step(rt, sample, True), Listener()
    with listening(found):
        watched = step(rt, sample)
    for a, b, c in zip(*map(_numbers, (alone, recorded, watched)), strict=True):
        assert (a is None) == (b is None) == (c is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(c, a, rtol=1e-12, atol=1e-14)
    for a, b in zip(alone, watched, strict=True):
        assert a is None or a.stride() == b.stride()
    assert any(name.startswith("aten::") for name in found.names)


def test_callbacks_and_modes_beside_an_interposer():
    found = Listener()

    def step():
        with rt.autograd.detect_anomaly(), rt.record_function("mine"):
            x = rt.ones(2, 3, requires_grad=True)
            (x * 2).sum().backward()

    with listening(found):
        seen = names_in(step)
    nodes = [name for name in seen if not name.startswith("autograd::engine::")]
    found.names.remove("backward")
    assert sorted(found.names) == sorted(nodes)
    assert {"mine", "aten::mul", "MulBackward0", "torch::autograd::AccumulateGrad"} <= set(nodes)


def test_interposers_see_all_and_failures_too():
    first, second = Listener(), Listener()
    with listening(first, second):
        rt.ones(3, requires_grad=True).exp().sum().backward()
    assert first.names == second.names
    assert "ExpBackward0" in first.names
    found = Listener()
    with listening(found), pytest.raises(RuntimeError, match="cannot be multiplied"):
        rt.ones(2, 3) @ rt.ones(2, 3)
    assert found.names[-1] == "aten::matmul"


def test_who_made_a_node_is_known_in_backward():
    made, seen = [], []

    def forward() -> None:
        made.append(rt.ones(2, requires_grad=True).exp().sum())

    with add_callback(seen.append):
        thread = threading.Thread(target=forward)
        thread.start()
        ident = thread.ident
        thread.join()
        made[0].backward()
    assert {r.forward_thread_id for r in seen if r.name == "ExpBackward0"} == {ident}


@pytest.fixture
def seen():
    """(what happened, name) of each range, in order."""
    found: list[tuple[str, str]] = []

    def begin(record):
        found.append(("begin", record.name))
        return record.name

    with add_callback(begin, lambda _, begun: found.append(("end", begun))):
        yield found


def test_a_decorated_function_is_a_range_at_each_call(seen):
    @rt.record_function("halve")
    def halve(n: int) -> int:
        return n if n < 2 else halve(n // 2)

    assert (halve(4), seen) == (1, [("begin", "halve")] * 3 + [("end", "halve")] * 3)
    assert halve.__name__ == "halve"
