"""What one call of an operator costs on tiny tensors: the overhead around the arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from runtime_timing import Step, in_turn

ROWS = 4
_SQUARE, _ROW, _STACK = (ROWS, ROWS), (ROWS,), (2, ROWS, ROWS)
_CALLS = 20  # of an observed operator: what it takes to register is not counted


class Case(NamedTuple):
    """An operator: on tensors, on arrays, and its operands' shapes (a number: indices)."""

    call: Callable[..., Any]
    bare: Callable[..., Any]
    shapes: tuple[Any, ...]


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


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


def _attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax(q @ k.swapaxes(-1, -2) * 0.5) @ v


def _pooled(x: Any) -> Any:
    return x.reshape(1, 2, 3, 2, 3, 2).max((3, 5))


def _cases(t: Any) -> dict[str, Case]:
    """The operators of a module with PyTorch's names."""
    f, one, two, three = t.nn.functional, (_SQUARE,), (_SQUARE,) * 2, (_SQUARE,) * 3
    table: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
        "add": (t.add, np.add, two),
        "x + 1": (lambda x: x + 1, lambda x: x + 1, one),
        "mul": (t.mul, np.multiply, two),
        "x * y, broadcast": (t.mul, np.multiply, (_SQUARE, _ROW)),
        "div": (t.div, np.divide, two),
        "pow(2)": (lambda x: x.pow(2), lambda x: x**2, one),
        "exp": (t.exp, np.exp, one),
        "sqrt of exp": (lambda x: x.exp().sqrt(), lambda x: np.sqrt(np.exp(x)), one),
        "tanh": (t.tanh, np.tanh, one),
        "sigmoid": (t.sigmoid, lambda x: 1 / (1 + np.exp(-x)), one),
        "relu": (t.relu, lambda x: np.maximum(x, 0), one),
        "gelu": (f.gelu, lambda x: x * 0.5 * (1 + np.tanh(x)), one),
        "where": (lambda x, y: t.where(x > y, x, y), lambda x, y: np.where(x > y, x, y), two),
        "mm": (t.mm, np.dot, two),
        "matmul, 3 by 2": (t.matmul, np.matmul, (_STACK, _SQUARE)),
        "bmm": (t.bmm, np.matmul, (_STACK, _STACK)),
        "linear": (f.linear, lambda x, w, b: x @ w.T + b, (_SQUARE, _SQUARE, _ROW)),
        "view": (lambda x: x.view(-1), lambda x: x.reshape(-1), one),
        "t": (t.t, np.transpose, one),
        "transpose": (lambda x: t.transpose(x, 0, 1), lambda x: x.swapaxes(0, 1), one),
        "x[1]": (lambda x: x[1], lambda x: x[1], one),
        "x[:, 1:3]": (lambda x: x[:, 1:3], lambda x: x[:, 1:3], one),
        "x[indices]": (lambda x, i: x[i], lambda x, i: x[i], (_SQUARE, ROWS)),
        "cat": (lambda *x: t.cat(x), lambda *x: np.concatenate(x), two),
        "stack": (lambda *x: t.stack(x), lambda *x: np.stack(x), two),
        "split": (lambda x: x.split(2)[0], lambda x: np.split(x, 2)[0], one),
        "sum": (t.sum, np.sum, one),
        "sum(1)": (lambda x: t.sum(x, 1), lambda x: x.sum(1), one),
        "mean": (t.mean, np.mean, one),
        "max(1)": (lambda x: x.max(1)[0], lambda x: x.max(1), one),
        "softmax": (lambda x: t.softmax(x, -1), _softmax, one),
        "layer_norm": (
            lambda x, w, b: f.layer_norm(x, _ROW, w, b),
            _layer_norm,
            (_SQUARE, _ROW, _ROW),
        ),
        "conv2d": (f.conv2d, _conv2d, ((1, 2, 6, 6), (2, 2, 3, 3))),
        "max_pool2d": (lambda x: f.max_pool2d(x, 2), _pooled, ((1, 2, 6, 6),)),
        "attention": (f.scaled_dot_product_attention, _attention, ((1, *_STACK),) * 3),
        "embedding": (lambda w, i: f.embedding(i, w), lambda w, i: w[i], (_SQUARE, ROWS)),
        "mse_loss": (f.mse_loss, lambda x, y: ((x - y) ** 2).mean(), two),
        "cross_entropy": (f.cross_entropy, _cross_entropy, (_SQUARE, ROWS)),
        "clone": (t.clone, np.copy, one),
        "addcmul": (t.addcmul, lambda x, y, z: x + y * z, three),
    }
    return {name: Case(*case) for name, case in table.items()}


def _operands(case: Case) -> list[Any]:
    made = np.random.default_rng(0)
    return [
        made.integers(0, ROWS, shape)
        if isinstance(shape, int)
        else made.standard_normal(shape).astype(np.float32)
        for shape in case.shapes
    ]


def _forward(torch: Any, case: Case, learn: bool) -> Step:
    given = [torch.from_numpy(a) for a in _operands(case)]
    for x in given:
        x.requires_grad_(learn and x.is_floating_point())
    return lambda: case.call(*given)


def _both(torch: Any, case: Case) -> Step:
    function, given = case.call, [torch.from_numpy(a) for a in _operands(case)]
    leaves = [x.requires_grad_() for x in given if x.is_floating_point()]
    slope = torch.ones_like(function(*given)).detach()

    def step() -> None:
        function(*given).backward(slope)
        for x in leaves:
            x.grad = None

    return step


def _add_(torch: Any) -> Step:
    x, y = (torch.from_numpy(np.ones(_SQUARE, np.float32)) for _ in range(2))
    return lambda: x.add_(y, alpha=-0.01)


def _observed(ours: Any, step: Step) -> Step:
    """Calls with an observer."""

    def call() -> None:
        with ours.add_callback(lambda _: None, lambda _, __: None):
            for _ in range(_CALLS):
                step()

    return call


def measure(ours: Any, torch: Any, rounds: int = 7) -> dict[str, dict[str, float]]:
    """Microseconds per call of each operator, in each way."""
    theirs = {} if torch is None else _cases(torch)
    ways: dict[str, dict[str, Step]] = {}
    for name, case in _cases(ours).items():
        arrays = _operands(case)
        ways[name] = {
            "numpy": lambda bare=case.bare, arrays=arrays: bare(*arrays),
            "no grad": _forward(ours, case, False),
            "grad": _forward(ours, case, True),
            "observed": _observed(ours, _forward(ours, case, True)),
            "with backward": _both(ours, case),
        }
        if torch is not None:
            ways[name]["PyTorch no grad"] = _forward(torch, theirs[name], False)
            ways[name]["PyTorch grad"] = _forward(torch, theirs[name], True)
            ways[name]["PyTorch with backward"] = _both(torch, theirs[name])
    one = np.ones(_SQUARE, np.float32)
    ways["add_(alpha=)"] = {
        "no grad": _add_(ours),
        "observed": _observed(ours, _add_(ours)),
        "numpy": lambda: np.add(one, one * -0.01, out=one),
    }
    if torch is not None:
        ways["add_(alpha=)"]["PyTorch no grad"] = _add_(torch)
    return {name: _medians(steps, rounds) for name, steps in ways.items()}


def _medians(ways: dict[str, Step], rounds: int) -> dict[str, float]:
    timings = in_turn(ways, rounds, slot=0.002)
    return {way: timings.microseconds(way) / (_CALLS if way == "observed" else 1) for way in ways}
