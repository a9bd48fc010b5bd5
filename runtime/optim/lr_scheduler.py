"""Learning rates over time. `scheduler.step()` comes after `optimizer.step()`.

Most schedules are a share s(t) of the first rate: a step multiplies a group's rate (above
`eta_min`) by s(t) / s(t - 1), so that several schedulers of one optimizer multiply.

Source: torch/optim/lr_scheduler.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from ..hooks import check
from .optimizer import Optimizer, Options


def _per_group(optimizer: Optimizer, value: Any) -> list[Any]:
    count = len(optimizer.param_groups)
    found = list(value) if isinstance(value, (list, tuple)) else [value] * count
    check(len(found) == count, f"Expected {count} values, but got {len(found)}", ValueError)
    return found


class LRScheduler(Options, last_epoch=-1):
    """Base of the schedulers; subclass with `share(epoch)`, or with `get_lr()`."""

    share: Any
    last_epoch: Any
    eta_min = 0.0

    def __init__(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        check(isinstance(optimizer, Optimizer), f"{optimizer} is not an Optimizer", TypeError)
        self.optimizer = optimizer
        self.__dict__.update(self._given(args, kwargs))
        for group in optimizer.param_groups if self.last_epoch == -1 else ():
            group.setdefault("initial_lr", group["lr"])
        self._initial_step()

    def _initial_step(self) -> None:
        self.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]
        self._step_count = 0
        self.step()

    def get_lr(self, chain: bool = True) -> list[float]:
        """The groups' rates at `last_epoch`, from those they have (or from the first)."""
        low, ratio = self.eta_min, self.share(self.last_epoch)
        before = self.share(self.last_epoch - 1) if self.last_epoch > 0 else 1.0
        if before < 1e-12 or not chain:
            return [low + (rate - low) * ratio for rate in self.base_lrs]
        return [low + (g["lr"] - low) * ratio / before for g in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to `epoch`."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            text = "Detected call of `lr_scheduler.step()` before `optimizer.step()`"
            warnings.warn(f"{text}: the first learning rate is skipped", stacklevel=2)
        self._step_count += 1
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        from_first = epoch is not None and hasattr(self, "share")
        self._set(self.get_lr(chain=False) if from_first else self.get_lr())

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = rates

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        found = {k: v for k, v in vars(self).items() if k not in {"optimizer", "lr_lambdas"}}
        if "_schedulers" in found:
            found["_schedulers"] = [one.state_dict() for one in found["_schedulers"]]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for n, state in enumerate(state_dict.get("_schedulers", ())):
            self._schedulers[n].load_state_dict(state)
        vars(self).update({k: v for k, v in state_dict.items() if k != "_schedulers"})


def _schedule(name: str, share: Callable[..., float], **options: Any) -> type[Any]:
    return type(name, (LRScheduler,), {"share": share, "__module__": __name__}, **options)


def _cosine(done: float) -> float:
    return (1 + math.cos(math.pi * done)) / 2


def _linear(self: Any, epoch: int) -> Any:
    done = min(epoch / self.total_iters, 1.0)
    return self.start_factor + (self.end_factor - self.start_factor) * done


def _stepped(self: Any, epoch: int) -> Any:
    return self.gamma ** sum(milestone <= epoch for milestone in self.milestones)


# Each schedule is its share of the first rate at epoch t, and its options in PyTorch's order.
StepLR = _schedule("StepLR", lambda s, t: s.gamma ** (t // s.step_size), step_size=..., gamma=0.1)
MultiStepLR = _schedule("MultiStepLR", _stepped, milestones=..., gamma=0.1)
ExponentialLR = _schedule("ExponentialLR", lambda s, t: s.gamma**t, gamma=...)
ConstantLR = _schedule(
    "ConstantLR", lambda s, t: s.factor if t < s.total_iters else 1.0, factor=1 / 3, total_iters=5
)
LinearLR = _schedule("LinearLR", _linear, start_factor=1 / 3, end_factor=1.0, total_iters=5)
CosineAnnealingLR = _schedule(
    "CosineAnnealingLR", lambda s, t: _cosine(t / s.T_max), T_max=..., eta_min=0.0
)


class LambdaLR(LRScheduler, lr_lambda=...):
    """The first rate times `lr_lambda(epoch)`; a list has a function for each group."""

    def _initial_step(self) -> None:
        self.lr_lambdas = _per_group(self.optimizer, self.__dict__.pop("lr_lambda"))
        super()._initial_step()

    def get_lr(self) -> list[float]:  # type: ignore[override]
        return [b * f(self.last_epoch) for b, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class OneCycleLR(
    LRScheduler,
    **{"max_lr": ..., "total_steps": 0, "epochs": 0, "steps_per_epoch": 0, "pct_start": 0.3},
    **{"anneal_strategy": "cos", "cycle_momentum": True, "base_momentum": 0.85},
    **{"max_momentum": 0.95, "div_factor": 25.0, "final_div_factor": 1e4, "three_phase": False},
):
    """Up to `max_lr` and down to next to nothing, momentum the other way (Smith, 2018)."""

    def _initial_step(self) -> None:
        self.total_steps: int = self.__dict__["total_steps"] or self.epochs * self.steps_per_epoch
        check(self.total_steps > 0, "needs total_steps, or epochs and steps_per_epoch", ValueError)
        groups = self.optimizer.param_groups if self.last_epoch == -1 else []
        for name in ("max_lr", "base_momentum", "max_momentum"):
            values = _per_group(self.optimizer, getattr(self, name))
            for group, value in zip(groups, values, strict=False):
                group[name] = value
        for group in groups:
            group["initial_lr"] = group["max_lr"] / self.div_factor
            group["min_lr"] = group["initial_lr"] / self.final_div_factor
        super()._initial_step()

    def get_lr(self) -> list[float]:  # type: ignore[override]
        """The groups' rates at `last_epoch`; sets their momentum too."""
        groups, last = self.optimizer.param_groups, self.total_steps - 1
        check(self.last_epoch <= last + 1, f"more than {self.total_steps} steps", ValueError)
        top = self.pct_start * self.total_steps - 1
        turns = [(0, "initial_lr"), (top, "max_lr"), (last, "min_lr")]
        if self.three_phase:
            turns.insert(2, (2 * top, "initial_lr"))
        i = bisect_left(turns[1:-1], (self.last_epoch,))
        (start, first), (end, then) = turns[i : i + 2]
        done = (self.last_epoch - start) / (end - start)
        done = 1 - _cosine(done) if self.anneal_strategy == "cos" else done
        for group in groups if self.cycle_momentum else ():
            names = ("base_momentum" if x == "max_lr" else "max_momentum" for x in (first, then))
            a, b = (group[name] for name in names)
            if "betas" in group:
                group["betas"] = (a + (b - a) * done, *group["betas"][1:])
            else:
                group["momentum"] = a + (b - a) * done
        return [group[first] + (group[then] - group[first]) * done for group in groups]


class SequentialLR(LRScheduler, schedulers=..., milestones=...):
    """One scheduler after the other: the next from each of `milestones` on."""

    def _initial_step(self) -> None:
        self._schedulers = self.__dict__.pop("schedulers")
        self._milestones = self.__dict__.pop("milestones")
        fits = len(self._milestones) == len(self._schedulers) - 1
        fits = fits and all(s.optimizer is self.optimizer for s in self._schedulers)
        check(fits, "needs schedulers of this optimizer, and a milestone between two", ValueError)
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for one in self._schedulers:  # takes back the step that each made when it was made
            one.last_epoch -= 1
        self.last_epoch += 1
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ReduceLROnPlateau(
    LRScheduler,
    **{"mode": "min", "factor": 0.1, "patience": 10, "threshold": 1e-4, "threshold_mode": "rel"},
    **{"cooldown": 0, "min_lr": 0.0, "eps": 1e-8},
):
    """Times `factor` when `step(metric)` has seen no better metric for `patience` epochs."""

    def _initial_step(self) -> None:
        fits = self.mode in {"min", "max"} and self.threshold_mode in {"rel", "abs"}
        fits = fits and self.factor < 1.0
        check(fits, "factor should be < 1, mode min or max, threshold_mode rel or abs", ValueError)
        self.min_lrs = _per_group(self.optimizer, self.min_lr)
        self.last_epoch = self.cooldown_counter = self.num_bad_epochs = 0
        self.best = math.inf if self.mode == "min" else -math.inf
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Go on to the next epoch, which has this metric."""
        self.last_epoch += 1
        sign = 1 if self.mode == "min" else -1
        margin = sign * self.threshold
        bar = self.best - margin if self.threshold_mode == "abs" else self.best * (1 - margin)
        self.num_bad_epochs += 1
        if sign * float(metrics) < sign * bar:
            self.best, self.num_bad_epochs = float(metrics), 0
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self.num_bad_epochs > self.patience:
            lower = [max(r * self.factor, low) for r, low in zip(rates, self.min_lrs, strict=True)]
            rates = [n if r - n > self.eps else r for r, n in zip(rates, lower, strict=True)]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._set(rates)
