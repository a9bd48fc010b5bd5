"""Captured graphs: a replay computes anew with what static tensors hold by then."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.modelled import clock

from ..runtime.answers import identical
from ..runtime.tables import calls
from .hazards import hazards
from .recording import kernels, recording, slow

pytestmark = pytest.mark.usefixtures("t4")
nn, F = torch.nn, torch.nn.functional


def _numpy(tensor: Any) -> Any:
    return tensor.numpy(force=True).copy()


def test_results_follow_the_static_input() -> None:
    x, graph = torch.zeros(4, 6, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        y = (x * 2).exp()
        z = y.sum(0) + 1
    for n in range(3):
        x.copy_(torch.full((4, 6), n / 4))
        graph.replay()
        expected = (torch.full((4, 6), n / 4) * 2).exp()
        np.testing.assert_array_equal(_numpy(y), _numpy(expected))
        np.testing.assert_array_equal(_numpy(z), _numpy(expected.sum(0) + 1))
    x, graph, side = torch.ones(4, device="cuda"), cuda.CUDAGraph(), cuda.Stream()
    with cuda.graph(graph):
        x + 1
    with recording() as log, cuda.stream(side):
        graph.replay()
    assert {w.stream for w in kernels(log)} == {side.number}


def test_a_replay_is_one_launch() -> None:
    x, graph = torch.ones(64, 64, device="cuda"), cuda.CUDAGraph()
    with recording() as log:
        eager = ((x @ x).relu() + 1).sum()
    with recording() as captured, cuda.graph(graph):
        out = ((x @ x).relu() + 1).sum()
    with recording() as replayed:
        graph.replay()
    assert kernels(captured) == []
    assert [c.name for c in replayed.calls] == ["cudaGraphLaunch"]
    assert [k.name for k in kernels(replayed)] == [k.name for k in kernels(log)]
    assert {k.correlation for k in kernels(replayed)} == {replayed.calls[0].correlation}
    (launch,) = replayed.calls
    assert launch.end_ns - launch.start_ns == cuda.current_stream().owner.spec.launch_ns
    done = kernels(replayed)
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(done))
    assert out.item() == eager.item()
    x, graph = slow(), cuda.CUDAGraph()
    with cuda.graph(graph):
        y = x
        for _ in range(5):
            y = y @ x
    with recording() as log:
        graph.replay()
        assert clock.now_ns() < kernels(log)[-1].end_ns
        y.sum().item()
        assert clock.now_ns() >= kernels(log)[-1].end_ns
    assert hazards(log.work) == []


def _steps(make: Callable[[], Any], shape: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """Outputs, gradients and weights of three batches: replayed, and one by one.

    As torch.cuda.CUDAGraph's documentation has it: a step runs on a side stream, then one is
    captured, the optimizer's included; weights begin as they were.
    """
    torch.manual_seed(0)
    model, params = make(), []
    if isinstance(model, nn.Module):
        model.to("cuda")
        params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1) if params else None
    start = [p.detach().clone() for p in params]
    batches = [torch.randn(*shape).cuda() for _ in range(3)]
    x, side, graph = batches[0].clone().requires_grad_(), cuda.Stream(), cuda.CUDAGraph()

    def step() -> Any:
        for p in (x, *params):
            p.grad = None
        out = model(x)
        out.square().sum().backward()
        if optimizer is not None:
            optimizer.step()
        return out

    def begin_again() -> None:
        with torch.no_grad():
            for p, old in zip(params, start, strict=True):
                p.copy_(old)

    def with_each_batch(run: Callable[[], Any]) -> list[Any]:
        found = []
        for batch in batches:
            with torch.no_grad():
                x.copy_(batch)
            out = run()
            found.append([_numpy(t) for t in (out, x.grad, *params, *(p.grad for p in params))])
        begin_again()
        return found

    one_by_one = with_each_batch(step)
    gc.collect()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        step()
    cuda.current_stream().wait_stream(side)
    begin_again()
    with cuda.graph(graph):
        out = step()
    return with_each_batch(lambda: graph.replay() or out), one_by_one


def _in_place_on_views(x: Any) -> Any:
    y = x * 2
    y[0].mul_(3)
    y[1:3] += x[1:3]
    return y


# A module, or a function of `x`, and the shape of what it takes.
STEPS = calls("""
nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)) of (4, 6); nn.GELU() of (4, 6)
nn.Tanh() of (4, 6); nn.LayerNorm(6) of (4, 6); nn.BatchNorm1d(6) of (4, 6)
nn.GroupNorm(2, 4) of (3, 4, 5); nn.Conv2d(2, 3, 3) of (2, 2, 6, 6); nn.MaxPool2d(2) of (2, 2, 6, 6)
lambda x: x.softmax(1) of (4, 6); lambda x: x.max(1)[0] of (4, 6)
lambda x: F.scaled_dot_product_attention(x, x, x) of (2, 4, 6)
lambda x: torch.where(x > 0, x * 2, x * 3) of (4, 6); lambda x: x[1:3] * x[0] of (4, 6)
lambda x: (x * 2).add_(1).mul_(x).relu_() of (4, 6); in_place_on_views of (4, 6)
lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device='cuda')) of (4, 6)
lambda x: x.masked_fill(x > 0, 0.5) of (4, 6)
""")


@pytest.mark.parametrize("step", STEPS)
def test_a_training_step(step: str) -> None:
    """Forward, backward and optimizer, with gradients in static tensors."""
    code, shape = step.split(" of ")
    names = {"torch": torch, "nn": nn, "F": F, "in_place_on_views": _in_place_on_views}
    replayed, one_by_one = _steps(lambda: eval(code, names), eval(shape))  # noqa: S307
    identical(replayed, one_by_one)


def test_a_capture_changes_nothing_and_replays_accumulate() -> None:
    """With static gradients that are there before the capture, a replay adds to them."""
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.grad = torch.zeros(3, device="cuda")
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        (x * 2).sum().backward()
    x.grad.zero_()
    for n in range(1, 4):
        graph.replay()
        assert x.grad.tolist() == [2.0 * n] * 3
    x, graph = torch.ones(3, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        x.add_(1)
        x[0].mul_(5)
        x[1] = 7
    assert x.tolist() == [1, 1, 1]
    graph.replay()
    assert x.tolist() == [10, 7, 2]
    graph.replay()
    assert x.tolist() == [55, 7, 3]


def test_streams_forked_and_joined_in_a_capture() -> None:
    x, graph, side = torch.ones(4, device="cuda"), cuda.CUDAGraph(), cuda.Stream()
    with cuda.graph(graph):
        main, y = cuda.current_stream(), x * 2
        side.wait_stream(main)
        with cuda.stream(side):
            z = y + 1
        main.wait_stream(side)
        out = z * y
        assert cuda.is_current_stream_capturing()
    assert not cuda.is_current_stream_capturing()
    with cuda.stream(side):
        assert not cuda.is_current_stream_capturing()
    x.fill_(5)
    graph.replay()
    assert out.tolist() == [110.0] * 4


# What a capture refuses, and what is said: `x` is on the device.
REFUSED = [
    *((code, "stream is capturing") for code in calls("""
    x[0].item(); x.cpu(); x.nonzero(); x[x > 0]; bool((x > 0).all()); torch.ones(4).to('cuda')
    torch.tensor([1.0], device='cuda'); cuda.synchronize(); cuda.current_stream().synchronize()
    """)),
    ("cuda.default_stream().wait_stream(cuda.current_stream())", "legacy stream"),
    ("cuda.current_stream().wait_stream(cuda.Stream())", "uncaptured work"),
    ("cuda.CUDAGraph().capture_begin()", "captur"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "said"), REFUSED)
def test_refuses(code: str, said: str) -> None:
    x, graph = torch.ones(4, device="cuda"), cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=said), cuda.graph(graph):
        eval(code, {"x": x, "torch": torch, "cuda": cuda})  # noqa: S307
    assert not cuda.is_current_stream_capturing()
    assert x.sum().item() == 4


def test_a_capture_begins_on_a_stream_of_its_own_and_ends_once() -> None:
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        cuda.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="capture_begin"):
        cuda.CUDAGraph().capture_end()
    x, graph = torch.ones(1 << 18, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        x + 1
    assert cuda.memory_allocated() == 2 * x.nbytes
    graph.reset()
    assert cuda.memory_allocated() == x.nbytes
