"""Where backward adds up gradients that arrive at a node: device, stream, and what it waits for.

The five cases are those of torch/csrc/autograd/input_buffer.cpp. In each test a consumer made
something that two or three producers used; the sum of their gradients is a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.modelled.activity import ActivityLog, DeviceWork
from tidy.runtime.utils.checkpoint import checkpoint

from .hazards import hazards
from .recording import kernels, place_of, recording, slow

pytestmark = pytest.mark.usefixtures("three_t4")


class Spread(torch.autograd.Function):
    """The same on several devices; its node is the first one's. Multiplies by 2 on each."""

    @staticmethod
    def forward(ctx: Any, x: Any, *devices: str) -> Any:
        ctx.device, ctx.count = x.device, len(devices)
        return tuple(x.to(device) * 2 for device in devices)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = torch.stack([(grad * 2).to(ctx.device) for grad in grads])
        return (found.sum(0), *([None] * ctx.count))


def _on(stream: Any, function: Any) -> Any:
    """`function()` there, after all that there is on the devices by now."""
    for device in range(cuda.device_count()):
        stream.wait_stream(cuda.default_stream(device))
    with cuda.stream(stream):
        found = function()
    for device in range(cuda.device_count()):
        cuda.default_stream(device).wait_stream(stream)
    return found


def _backward(*outputs: Any) -> ActivityLog:
    """From all outputs at once, each with ones as its gradient."""
    ones = [torch.ones_like(out) for out in outputs]
    for device in range(cuda.device_count()):
        cuda.synchronize(device)
    with recording() as log:
        torch.autograd.backward(outputs, ones)
    assert hazards(log.work) == []
    return log


def _adds(log: ActivityLog) -> list[DeviceWork]:
    """The sums: kernels that read what two other pieces of work have written."""
    return kernels(log, "CUDAFunctor_add")


def _waits(log: ActivityLog, waiting: Any, awaited: Any) -> bool:
    """Whether a stream was told to wait for another one."""
    return any(
        w.args.get("cuda_sync_kind") == "Stream Wait Event"
        and place_of(w) == (waiting.device_index, waiting.number)
        and (w.args["wait_on_device"], w.args["wait_on_stream"])
        == (awaited.device_index, awaited.number)
        for w in log.work
    )


def _makers(log: ActivityLog, add: DeviceWork) -> set[tuple[int, int]]:
    """Where the operands of a sum were made."""
    before = log.work[: log.work.index(add)]
    return {place_of(w) for w in before if set(w.writes) & set(add.reads)}


def test_case_1_and_one_stream_need_no_wait() -> None:
    """Gradients of a tensor of the CPU are added up on the host, those of one stream on it."""
    x = torch.ones(64, 64, requires_grad=True)
    y = x * 3
    log = _backward(y.to("cuda:0") * 2, y.to("cuda:1") * 5)
    assert (_adds(log), x.grad.device) == ([], torch.device("cpu"))
    assert (x.grad == 21).all()
    x = slow().requires_grad_()
    y = x * 3
    log = _backward(y * 2, y * 5)
    assert [place_of(add) for add in _adds(log)] == [(0, 7)]
    assert not [w for w in log.work if w.kind == "cuda_sync"]
    assert (x.grad == 21).all()


@pytest.mark.parametrize("count", [2, 3])
def test_case_2_on_the_device_of_both(count: int) -> None:
    consumer, producers = cuda.Stream(), [cuda.Stream() for _ in range(count)]
    x = slow().requires_grad_()
    y = _on(consumer, lambda: x * 3)
    log = _backward(*(_on(stream, lambda: y @ slow()) for stream in producers))
    adds = _adds(log)
    assert [place_of(add) for add in adds] == [(0, consumer.number)] * (count - 1)
    for stream in producers:
        assert _waits(log, consumer, stream)
    assert _makers(log, adds[0]) <= {(0, stream.number) for stream in producers}
    assert (x.grad - 3.0 * count).abs().max() < 1e-12


def test_case_3_on_the_consumers_device_alone() -> None:
    """Producers are copies to another device, which give gradients on the consumer's."""
    consumer, producers = cuda.Stream("cuda:0"), [cuda.Stream("cuda:1") for _ in range(2)]
    x = slow().requires_grad_()
    y = _on(consumer, lambda: x * 3)
    outs = [_on(stream, lambda: y.to("cuda:1")) for stream in producers]
    assert [out.grad_fn.stream for out in outs] == producers
    log = _backward(*outs)
    (add,) = _adds(log)
    assert place_of(add) == (0, consumer.number)
    assert _waits(log, consumer, cuda.default_stream("cuda:0"))
    # The copies run on the gradient's streams, which that default stream has waited for.
    assert _makers(log, add) == {(1, stream.number) for stream in producers}
    assert (x.grad == 6).all()


def test_cases_4_and_5_on_another_device() -> None:
    """The consumer has an output on another device: the producers' (4), or a third one (5)."""
    consumer, producers = cuda.Stream("cuda:0"), [cuda.Stream("cuda:1") for _ in range(2)]
    x = slow().requires_grad_()
    here, there = _on(consumer, lambda: Spread.apply(x, "cuda:0", "cuda:1"))
    assert here.grad_fn.stream == consumer
    outs = [_on(stream, lambda: there @ slow("cuda:1")) for stream in producers]
    log = _backward(*outs, here)
    adds = _adds(log)
    assert [place_of(add) for add in adds] == [(1, 7)]
    for stream in producers:
        assert _waits(log, cuda.default_stream("cuda:1"), stream)
    assert _makers(log, adds[0]) == {(1, stream.number) for stream in producers}
    assert (x.grad - 6.0).abs().max() < 1e-12
    x = slow().requires_grad_()
    here, far = _on(consumer, lambda: Spread.apply(x, "cuda:0", "cuda:2"))
    outs = [_on(stream, lambda: far.to("cuda:1")) for stream in producers]
    log = _backward(*outs, here)
    (add,) = _adds(log)
    assert place_of(add) == (2, 7)
    assert (x.grad == 6).all()


def test_a_node_runs_on_the_stream_of_its_forward() -> None:
    streams = [cuda.Stream() for _ in range(3)]
    x = slow().requires_grad_()
    y = x
    for stream in streams:
        y = _on(stream, lambda y=y: y.sin())
    log = _backward(y)
    found = [place_of(w) for w in kernels(log)]
    order = [place for place in dict.fromkeys(found) if place != (0, 7)]
    assert order == [(0, stream.number) for stream in reversed(streams)]
    for later, earlier in zip(streams[1:], streams, strict=False):
        assert _waits(log, earlier, later)


def test_streams_of_leaves_and_callers_wait_for_each_other() -> None:
    """The caller's waits for a leaf's gradient, and the graph's for the gradient it begins with."""
    side, caller, x = cuda.Stream(), cuda.Stream(), slow().requires_grad_()
    out = _on(side, lambda: x @ slow())
    ones = torch.ones_like(out)
    cuda.synchronize()
    with recording() as log, cuda.stream(caller):
        out.backward(ones)
        x.grad + 1
    assert (hazards(log.work), place_of(kernels(log)[-1])) == ([], (0, caller.number))
    assert _waits(log, caller, side)
    side, x = cuda.Stream(), slow().requires_grad_()
    out = _on(side, lambda: (x @ slow()).sum())  # noqa: PLW0108  (all of it there)
    cuda.synchronize()
    with recording() as log:
        out.backward()
    assert hazards(log.work) == []
    assert _waits(log, side, cuda.default_stream())


def _checkpoint(x: Any, side: Any) -> Any:
    step = partial(checkpoint, lambda x: (x @ x).sin() @ x, x, use_reentrant=False)
    _on(side, lambda: step().sum()).backward()
    return x.grad


def _twice(x: Any, side: Any) -> Any:
    (g,) = torch.autograd.grad(_on(side, lambda: (x @ x).sin().sum()), x, create_graph=True)
    g.square().sum().backward()
    return x.grad


def _returned(x: Any, side: Any) -> Any:
    return torch.autograd.grad(_on(side, lambda: (x @ slow()).sin().sum()), x)[0]


def _accumulated(x: Any, side: Any) -> Any:
    """The second backward adds to `.grad`, in place, on the leaf's stream."""
    for _ in range(3):
        _on(side, lambda: (x @ slow()).sum()).backward()  # noqa: PLW0108  (all of it there)
    return x.grad


@pytest.mark.parametrize("program", [_checkpoint, _twice, _returned, _accumulated])
def test_the_caller_waits_for_gradients(program: Callable[[Any, Any], Any]) -> None:
    x, side = slow().requires_grad_(), cuda.Stream()
    cuda.synchronize()
    with recording() as log:
        program(x, side) + 1
    assert hazards(log.work) == []


def test_current_streams_are_what_they_were() -> None:
    side, other = cuda.Stream("cuda:0"), cuda.Stream("cuda:1")
    x = slow().requires_grad_()
    out = _on(side, lambda: (x @ slow()).to("cuda:1").sum())
    with cuda.stream(other):
        out.backward()
        assert cuda.current_stream("cuda:1") == other
        assert cuda.current_stream("cuda:0") == cuda.default_stream("cuda:0")
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0

    out = _on(side, lambda: x.sin().sum())
    handle = x.register_hook(lambda _: 1 / 0)
    with cuda.stream(other), pytest.raises(ZeroDivisionError):
        out.backward()
    handle.remove()
    assert cuda.current_device() == 0
    assert cuda.current_stream("cuda:1") == cuda.default_stream("cuda:1")
