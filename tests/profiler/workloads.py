"""Small programs of every kind for the profiler to record."""

# ruff: noqa: ARG004, ARG005  (hooks and functions take what they are given)
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.data import DataLoader, TensorDataset
from tidy.runtime.derivatives.checkpoint import checkpoint

Workload = Callable[[], object]
WORKLOADS: dict[str, Workload] = {}


def _workload(function: Workload) -> Workload:
    WORKLOADS[function.__name__] = function
    return function


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def _train(model: nn.Module, x: Any, y: Any, optimizer: Any) -> None:
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


@_workload
def training() -> None:
    model = mlp()
    _train(model, rt.randn(3, 4), rt.zeros(3, 2), rt.optim.SGD(model.parameters(), lr=0.1))


@_workload
def adam_of_both_kinds() -> None:
    for foreach in (False, True):
        model = mlp()
        optimizer = rt.optim.Adam(model.parameters(), foreach=foreach)
        _train(model, rt.randn(3, 4), rt.zeros(3, 2), optimizer)


@_workload
def convolutions() -> None:
    layers = (nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    model = nn.Sequential(*layers, nn.Linear(18, 2))
    optimizer = rt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    _train(model, rt.randn(2, 1, 8, 8), rt.zeros(2, 2), optimizer)


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        found = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + nn.functional.gelu(self.out(found))


@_workload
def attention() -> None:
    _Block()(rt.randn(2, 3, 8)).sum().backward()


class Scale(rt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, None


@_workload
def own_function() -> None:
    Scale.apply(rt.ones(3, requires_grad=True), 2.0).sum().backward()


@_workload
def checkpoints() -> None:
    model, x = mlp(), rt.randn(3, 4, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()


@_workload
def double_backward() -> None:
    x = rt.ones(3, requires_grad=True)
    (grad,) = rt.autograd.grad((x**3).sum(), x, create_graph=True)
    grad.pow(2).sum().backward()


class _Inner(rt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        with rt.enable_grad():
            y = rt.ones(2, requires_grad=True)
            (y * 3).sum().backward()
        return grad * y.grad.sum()


@_workload
def reentrant_backward() -> None:
    _Inner.apply(rt.ones(3, requires_grad=True)).sum().backward()


@_workload
def hooks() -> None:
    model, x = mlp(), rt.randn(3, 4, requires_grad=True)
    model.register_forward_pre_hook(lambda m, a: (a[0] * 1,))
    model.register_forward_hook(lambda m, a, out: out * 2)
    model.register_full_backward_hook(lambda m, a, b: None)
    x.register_hook(lambda g: g * 2)
    weight = next(iter(model.parameters()))
    weight.register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(0.5), None)[1])
    y = model(x)
    y.grad_fn.register_hook(lambda a, b: None)
    y.grad_fn.register_prehook(lambda b: (b[0] + 1,))
    with rt.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 1):
        z = y.exp() * y
    z.sum().backward()


def _loader(workers: int) -> None:
    data = TensorDataset(rt.arange(8.0), rt.arange(8))
    for batch, _ in DataLoader(data, batch_size=2, num_workers=workers, shuffle=True):
        batch.sum()


@_workload
def loader() -> None:
    _loader(0)


@_workload
def loader_of_two_workers() -> None:
    _loader(2)


@_workload
def modes() -> None:
    model, x = mlp(), rt.randn(3, 4)
    with rt.no_grad():
        model(x)
    with rt.inference_mode():
        model(x)
    with rt.autocast("cpu", dtype=rt.float16), contextlib.suppress(RuntimeError):
        model(x)


@_workload
def anomaly_mode() -> None:
    with rt.autograd.detect_anomaly():
        mlp()(rt.ones(2, 4)).sum().backward()
        Scale.apply(rt.ones(3, requires_grad=True), 2.0).sum().backward()


@_workload
def errors() -> None:
    with contextlib.suppress(RuntimeError):
        rt.ones(2, 3) @ rt.ones(2, 3)
    x = rt.ones(2, requires_grad=True)
    x.register_hook(lambda g: 1 / 0)
    with contextlib.suppress(ZeroDivisionError):
        (x * 2).sum().backward()
    y = (rt.ones(2, requires_grad=True) * 2).sum()
    y.backward()
    with contextlib.suppress(RuntimeError):
        y.backward()


def _halves(x: Any) -> Iterator[Any]:
    while x.numel() > 1:
        x = x[: x.numel() // 2] + 1
        yield x


def _down(x: Any, depth: int) -> Any:
    return _down(x + 1, depth - 1) if depth else x


@_workload
def generators_and_recursion() -> None:
    for _ in _halves(rt.ones(16)):
        rt.zeros(1)
    _down(rt.zeros(1), 40)


def on_thread(function: Callable[[], Any], name: str = "side") -> Any:
    """What a function gives when a new thread runs it to its end."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()), name=name)
    thread.start()
    thread.join()
    return found[0]


@_workload
def forward_on_a_thread() -> None:
    on_thread(lambda: mlp()(rt.ones(2, 4)).sum()).backward()


@_workload
def backward_on_a_thread() -> None:
    loss = mlp()(rt.ones(2, 4)).sum()
    on_thread(loss.backward)


@_workload
def threads_one_after_another() -> None:
    losses = [on_thread(lambda: mlp()(rt.ones(2, 4)).sum()) for _ in range(3)]
    for loss in losses:
        loss.backward()


@_workload
def threads_at_once() -> None:
    def one(_: int) -> None:
        mlp()(rt.ones(2, 4)).sum().backward()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, range(6)))


@_workload
def ranges() -> None:
    with rt.record_function("outer"):
        rt.ones(2)
        with rt.record_function('inner "quoted" \\ é \x01 \ud800', "its args"):
            rt.ones(3)
    with contextlib.suppress(KeyError), rt.record_function("failing"):
        raise KeyError


@_workload
def arguments_of_every_kind() -> None:
    x = rt.ones(2, 3)
    rt.cat([x, x], 1)
    rt.stack([x, x.t().contiguous().t()])
    x.add(2, alpha=3.0)
    x[0, 1:] = 4
    x[rt.tensor([True, False])]
    x.sum((0, 1), keepdim=True)
    x.to(rt.float64)
    rt.clamp(x, min=None, max=float("inf"))
    rt.zeros(0, 3).sum()
    x.bool() & True
    rt.full((2,), 1 + 2j)
