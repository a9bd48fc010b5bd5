"""What one call of an operator costs on tiny tensors: the overhead around the arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from runtime_timing import Step, in_turn

ROWS = 4
Function = Callable[..., Any]


class Case(NamedTuple):
    """An operator: on tensors, on arrays, and its operands' shapes (a number: indices)."""

    call: Callable[[Any], Function]  # of a module with PyTorch's names
    bare: Function
    shapes: tuple[Any, ...]


_SQUARE = (ROWS, ROWS)
_IMAGE = (1, 2, 6, 6)


def _softmax(x: Any) -> Any:
    found = np.exp(x - x.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def _layer_norm(x: Any, w: Any, b: Any) -> Any:
    apart = x - x.mean(-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(-1, keepdims=True) + 1e-5) * w + b


def _conv2d(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def _cross_entropy(x: Any, y: Any) -> Any:
    apart = x - x.max(-1, keepdims=True)
    logs = apart - np.log(np.exp(apart).sum(-1, keepdims=True))
    return -logs[np.arange(len(y)), y].mean()


def _mse(x: Any, y: Any) -> Any:
    return ((x - y) ** 2).mean()


def _attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax(q @ k.swapaxes(-1, -2) * 0.5) @ v


def _cases() -> dict[str, Case]:
    one, two, three = (_SQUARE,), (_SQUARE,) * 2, (_SQUARE,) * 3
    heads = ((1, 2, ROWS, ROWS),) * 3
    table: dict[str, tuple[Callable[[Any], Function], Function, tuple[Any, ...]]] = {
        "add": (lambda t: t.add, np.add, two),
        "x + 1": (lambda _: lambda x: x + 1, lambda x: x + 1, one),
        "mul": (lambda t: t.mul, np.multiply, two),
        "x * y, broadcast": (lambda t: t.mul, np.multiply, (_SQUARE, (ROWS,))),
        "div": (lambda t: t.div, np.divide, two),
        "pow(2)": (lambda _: lambda x: x.pow(2), lambda x: x**2, one),
        "exp": (lambda t: t.exp, np.exp, one),
        "sqrt of exp": (lambda _: lambda x: x.exp().sqrt(), lambda x: np.sqrt(np.exp(x)), one),
        "tanh": (lambda t: t.tanh, np.tanh, one),
        "sigmoid": (lambda t: t.sigmoid, lambda x: 1 / (1 + np.exp(-x)), one),
        "relu": (lambda t: t.relu, lambda x: np.maximum(x, 0), one),
        "gelu": (lambda t: t.nn.functional.gelu, lambda x: x * 0.5 * (1 + np.tanh(x)), one),
        "where": (
            lambda t: lambda x, y: t.where(x > y, x, y),
            lambda x, y: np.where(x > y, x, y),
            two,
        ),
        "mm": (lambda t: t.mm, np.dot, two),
        "matmul, 3 by 2": (lambda t: t.matmul, np.matmul, ((2, *_SQUARE), _SQUARE)),
        "bmm": (lambda t: t.bmm, np.matmul, ((2, *_SQUARE),) * 2),
        "linear": (
            lambda t: t.nn.functional.linear,
            lambda x, w, b: x @ w.T + b,
            (_SQUARE, _SQUARE, (ROWS,)),
        ),
        "view": (lambda _: lambda x: x.view(-1), lambda x: x.reshape(-1), one),
        "t": (lambda t: t.t, np.transpose, one),
        "transpose": (lambda t: lambda x: t.transpose(x, 0, 1), lambda x: x.swapaxes(0, 1), one),
        "x[1]": (lambda _: lambda x: x[1], lambda x: x[1], one),
        "x[:, 1:3]": (lambda _: lambda x: x[:, 1:3], lambda x: x[:, 1:3], one),
        "x[indices]": (lambda _: lambda x, i: x[i], lambda x, i: x[i], (_SQUARE, ROWS)),
        "cat": (lambda t: lambda *x: t.cat(x), lambda *x: np.concatenate(x), two),
        "stack": (lambda t: lambda *x: t.stack(x), lambda *x: np.stack(x), two),
        "split": (lambda _: lambda x: x.split(2)[0], lambda x: np.split(x, 2)[0], one),
        "sum": (lambda t: t.sum, np.sum, one),
        "sum(1)": (lambda t: lambda x: t.sum(x, 1), lambda x: x.sum(1), one),
        "mean": (lambda t: t.mean, np.mean, one),
        "max(1)": (lambda _: lambda x: x.max(1)[0], lambda x: x.max(1), one),
        "softmax": (lambda t: lambda x: t.softmax(x, -1), _softmax, one),
        "layer_norm": (
            lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, (ROWS,), w, b),
            _layer_norm,
            (_SQUARE, (ROWS,), (ROWS,)),
        ),
        "conv2d": (lambda t: t.nn.functional.conv2d, _conv2d, (_IMAGE, (2, 2, 3, 3))),
        "max_pool2d": (
            lambda t: lambda x: t.nn.functional.max_pool2d(x, 2),
            lambda x: x.reshape(1, 2, 3, 2, 3, 2).max((3, 5)),
            (_IMAGE,),
        ),
        "attention": (lambda t: t.nn.functional.scaled_dot_product_attention, _attention, heads),
        "embedding": (
            lambda t: lambda w, i: t.nn.functional.embedding(i, w),
            lambda w, i: w[i],
            (_SQUARE, ROWS),
        ),
        "mse_loss": (lambda t: t.nn.functional.mse_loss, _mse, two),
        "cross_entropy": (lambda t: t.nn.functional.cross_entropy, _cross_entropy, (_SQUARE, ROWS)),
        "clone": (lambda t: t.clone, np.copy, one),
        "addcmul": (lambda t: t.addcmul, lambda x, y, z: x + y * z, three),
    }
    return {name: Case(*case) for name, case in table.items()}


def _add_(torch: Any) -> Step:
    x, y = (torch.from_numpy(np.ones(_SQUARE, np.float32)) for _ in range(2))
    return lambda: x.add_(y, alpha=-0.01)


def _operands(case: Case) -> list[Any]:
    made = np.random.default_rng(0)
    return [
        made.integers(0, ROWS, shape)
        if isinstance(shape, int)
        else made.standard_normal(shape).astype(np.float32)
        for shape in case.shapes
    ]


def _forward(torch: Any, case: Case, learn: bool) -> Step:
    function, given = case.call(torch), [torch.from_numpy(a) for a in _operands(case)]
    for x in given:
        x.requires_grad_(learn and x.is_floating_point())
    return lambda: function(*given)


def _both(torch: Any, case: Case) -> Step:
    function, given = case.call(torch), [torch.from_numpy(a) for a in _operands(case)]
    leaves = [x.requires_grad_() for x in given if x.is_floating_point()]
    slope = torch.ones_like(function(*given)).detach()

    def step() -> None:
        function(*given).backward(slope)
        for x in leaves:
            x.grad = None

    return step


def _watched(ours: Any, step: Step) -> Step:
    """Twenty calls with an observer."""

    def call() -> None:
        with ours.add_callback(lambda _: None, lambda _, __: None):
            for _ in range(20):
                step()

    return call


def measure(ours: Any, torch: Any, rounds: int = 7) -> dict[str, dict[str, float]]:
    """Microseconds per call of each operator, in each way."""
    found = {}
    for name, case in _cases().items():
        arrays = _operands(case)
        ways: dict[str, Step] = {
            "numpy": lambda bare=case.bare, arrays=arrays: bare(*arrays),
            "no grad": _forward(ours, case, False),
            "grad": _forward(ours, case, True),
            "observed": _watched(ours, _forward(ours, case, True)),
            "with backward": _both(ours, case),
        }
        if torch is not None:
            ways["PyTorch no grad"] = _forward(torch, case, False)
            ways["PyTorch grad"] = _forward(torch, case, True)
            ways["PyTorch with backward"] = _both(torch, case)
        found[name] = _medians(ways, rounds)
    ways = {"no grad": _add_(ours), "observed": _watched(ours, _add_(ours))}
    one = np.ones(_SQUARE, np.float32)
    ways["numpy"] = lambda: np.add(one, one * -0.01, out=one)
    if torch is not None:
        ways["PyTorch no grad"] = _add_(torch)
    found["add_(alpha=)"] = _medians(ways, rounds)
    return found


def _medians(ways: dict[str, Step], rounds: int) -> dict[str, float]:
    timings = in_turn(ways, rounds, slot=0.002)
    return {way: timings.microseconds(way) / (20 if way == "observed" else 1) for way in timings}
