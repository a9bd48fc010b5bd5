"""LBFGS: a direction from the changes of the last gradients, and a step along it.

All parameters are one vector here. A step calls its closure several times.

Source: torch/optim/lbfgs.py, after Mark Schmidt's minFunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.aten import aten
from ..engine.grad_mode import enable_grad, no_grad
from ..engine.hooks import check
from .algorithms import _Algorithm
from .optimizer import Group


class _Point(NamedTuple):
    """A place along the direction: its step, the loss and the gradient there, and their slope."""

    step: Any
    loss: float
    grad: Any
    slope: Any


class LBFGS(
    _Algorithm,
    **{"lr": 1, "max_iter": 20, "max_eval": None, "tolerance_grad": 1e-7},
    **{"tolerance_change": 1e-9, "history_size": 100, "line_search_fn": None},
):
    """A quasi-Newton method with little memory (Liu and Nocedal, 1989)."""

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(params, *args, **kwargs)
        one = len(self.param_groups) == 1
        check(one, "LBFGS doesn't support per-parameter options (parameter groups)", ValueError)
        for options in (self.defaults, *self.param_groups):
            if options["max_eval"] is None:
                options["max_eval"] = options["max_iter"] * 5 // 4
        self._parameters: list[Any] = self.param_groups[0]["params"]

    @no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to `max_iter` steps; the loss that `closure` gave before them."""
        group, evaluate = self.param_groups[0], enable_grad()(closure)
        rate, least = float(group["lr"]), group["tolerance_change"]
        state = self.state[self._parameters[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first, evaluated = evaluate(), 1
        loss, grad = float(first), self._gradient()
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first
        for number in range(1, group["max_iter"] + 1):
            last = number == group["max_iter"]
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
                state["t"] = min(1.0, 1.0 / grad.abs().sum()) * rate
            else:
                _turn(grad, state, group["history_size"])
                state["t"] = rate
            direction, before = state["d"], loss
            state.update(prev_flat_grad=grad.clone(), prev_loss=loss)
            start = _Point(0, loss, grad, grad.dot(direction))
            if start.slope > -least:
                break
            used = 0
            if group["line_search_fn"] is not None:
                known = group["line_search_fn"] == "strong_wolfe"
                check(known, "only 'strong_wolfe' is supported")
                there, used = self._search(evaluate, start, group["max_eval"] - evaluated)
                state["t"], loss, grad, _ = there
            self._move(state["t"], direction)
            if not used and not last:
                loss, grad, used = float(evaluate()), self._gradient(), 1
            evaluated += used
            state["func_evals"] += used
            if last or evaluated >= group["max_eval"]:
                break
            if grad.abs().max() <= group["tolerance_grad"] or abs(loss - before) < least:
                break
            if direction.mul(state["t"]).abs().max() <= least:
                break
        return first

    def _search(self, evaluate: Any, start: _Point, most: int) -> tuple[_Point, int]:
        """A step along the direction that meets the strong Wolfe conditions; evaluations used."""
        state, group = self.state[self._parameters[0]], self.param_groups[0]
        kept, direction, used = [p.clone() for p in self._parameters], state["d"], 0

        def at(step: Any) -> _Point:
            nonlocal used
            used += 1
            self._move(step, direction)
            loss, grad = float(evaluate()), self._gradient()
            for p, value in zip(self._parameters, kept, strict=True):
                p.copy_(value)
            return _Point(step, loss, grad, grad.dot(direction))

        least = group["tolerance_change"] / direction.abs().max()
        return _strong_wolfe(at, start, state["t"], least, most), used

    def _gradient(self) -> Any:
        parts = []
        for p in self._parameters:
            grad = aten.zeros_like(p) if p.grad is None else p.grad
            grad = grad.to_dense() if grad.is_sparse else grad
            parts.append((aten.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return aten.cat(parts)

    def _move(self, step: Any, direction: Any) -> None:
        done = 0
        for p in self._parameters:
            real = aten.view_as_real(p) if p.is_complex() else p
            part = direction[done : done + real.numel()]
            real.add_(part.view_as(real), alpha=float(step))
            done += real.numel()


def _turn(grad: Any, state: Group, size: int) -> None:
    """The next direction: minus the gradient times an estimate of the inverse Hessian."""
    change, step = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    product = change.dot(step)
    changes, steps, inverses = histories = [state[key] for key in ("old_dirs", "old_stps", "ro")]
    if product > 1e-10:
        for history, new in zip(histories, (change, step, 1.0 / product), strict=True):
            if len(history) == size:
                history.pop(0)
            history.append(new)
        state["H_diag"] = product / change.dot(change)
    shares = state.setdefault("al", [None] * size)
    turned = grad.neg()
    for i in reversed(range(len(steps))):
        shares[i] = steps[i].dot(turned) * inverses[i]
        turned.add_(changes[i], alpha=-float(shares[i]))
    state["d"] = turned = turned.mul(state["H_diag"])
    for i in range(len(steps)):
        back = changes[i].dot(turned) * inverses[i]
        turned.add_(steps[i], alpha=float(shares[i] - back))


def _strong_wolfe(
    at: Callable[[Any], _Point], start: _Point, step: Any, least: Any, most: int
) -> _Point:
    """The lowest point that was seen, of at most `most` that are tried after the first.

    First the steps grow until a minimum must lie between two points, then these close in on it.
    """

    def too_high(point: _Point) -> Any:
        return point.loss > start.loss + 1e-4 * point.step * start.slope

    def flat(point: _Point) -> Any:
        return abs(point.slope) <= -0.9 * start.slope

    before, now, tried = start, at(step), 0
    pair = [start, now]
    while tried < most:
        pair = [before, now]
        if too_high(now) or (tried > 1 and now.loss >= before.loss):
            break
        if flat(now):
            return now
        if now.slope >= 0:
            break
        ahead = now.step + 0.01 * (now.step - before.step), now.step * 10
        before, now = now, at(_interpolated(before, now, ahead))
        tried += 1
    if tried == most:
        pair = [start, now]
    low, slow = int(pair[0].loss > pair[1].loss), False
    while tried < most:
        if abs(pair[1].step - pair[0].step) < least:
            break
        near, far = sorted((pair[0].step, pair[1].step))
        step, margin = _interpolated(pair[0], pair[1], (near, far)), 0.1 * (far - near)
        at_edge = min(far - step, step - near) < margin
        if at_edge and (slow or step >= far or step <= near):
            step = far - margin if abs(step - far) < abs(step - near) else near + margin
            at_edge = False
        slow, now = bool(at_edge), at(step)
        tried += 1
        if too_high(now) or now.loss >= pair[low].loss:
            pair[1 - low] = now
            low = int(pair[0].loss > pair[1].loss)
            continue
        if flat(now):
            return now
        if now.slope * (pair[1 - low].step - pair[low].step) >= 0:
            pair[1 - low] = pair[low]
        pair[low] = now
    return pair[low]


def _interpolated(one: _Point, two: _Point, bounds: tuple[Any, Any]) -> Any:
    """Where the cubic through two points has its minimum, within bounds."""
    if one.step > two.step:
        one, two = two, one
    x1, f1, _, g1 = one
    x2, f2, _, g2 = two
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square >= 0:
        d2 = square.sqrt()
        lowest = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
        return min(max(lowest, bounds[0]), bounds[1])
    return (bounds[0] + bounds[1]) / 2.0
