"""Learning rates over time. `scheduler.step()` comes after `optimizer.step()`.

Most schedules are a share s(t) of the first rate: a step multiplies a group's rate (above
`eta_min`) by s(t) / s(t - 1), so that several schedulers of one optimizer multiply. Behind those
stand the ones that go up and down, that run others, and that wait for a metric.

Source: torch/optim/lr_scheduler.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.hooks import check
from .optimizer import Group
from .scheduler import LRScheduler, per_group

__all__ = ["ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR"]
__all__ += ["ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR"]
__all__ += ["PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
_LRScheduler = LRScheduler


def _schedule(
    name: str,
    share: Callable[..., float],
    resumes: bool = False,
    prepare: Any = None,
    **options: Any,
) -> type[Any]:
    inside = {"share": share, "_resumes": resumes, "__module__": __name__}
    inside |= {"_prepare": prepare} if prepare else {}
    return type(name, (LRScheduler,), inside, **options)


def _cosine(self: Any, epoch: int) -> float:
    share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
    return share if share > 1e-15 else 0.0


def _linear(self: Any, epoch: int) -> Any:
    done = min(epoch / self.total_iters, 1.0)
    if epoch < 0:
        return 1.0
    return self.start_factor + (self.end_factor - self.start_factor) * done


def _shares(self: Any) -> None:
    """Check the factors of ConstantLR and LinearLR."""
    factors = [vars(self).get(name, 1.0) for name in ("factor", "start_factor", "end_factor")]
    fits = all(0 <= factor <= 1 for factor in factors) and factors[1] != 0
    check(fits, "a multiplicative factor should be between 0 and 1", ValueError)


# Each schedule is its share of the first rate at epoch t, and its options in PyTorch's order.
StepLR = _schedule(
    "StepLR", lambda s, t: s.gamma ** (max(t, 0) // s.step_size), True, step_size=..., gamma=0.1
)
MultiStepLR = _schedule(
    "MultiStepLR",
    lambda s, t: s.gamma ** sum(milestone <= t for milestone in s.milestones.elements()),
    True,
    lambda self: setattr(self, "milestones", Counter(self.milestones)),
    milestones=...,
    gamma=0.1,
)
ExponentialLR = _schedule("ExponentialLR", lambda s, t: s.gamma**t, gamma=...)
ConstantLR = _schedule(
    "ConstantLR",
    lambda s, t: s.factor if 0 <= t < s.total_iters else 1.0,
    True,
    _shares,
    factor=1 / 3,
    total_iters=5,
)
LinearLR = _schedule(
    "LinearLR", _linear, False, _shares, start_factor=1 / 3, end_factor=1.0, total_iters=5
)
PolynomialLR = _schedule(
    "PolynomialLR",
    lambda s, t: (1 - min(t, s.total_iters) / s.total_iters) ** s.power,
    total_iters=5,
    power=1.0,
)
CosineAnnealingLR = _schedule("CosineAnnealingLR", _cosine, T_max=..., eta_min=0.0)


class LambdaLR(LRScheduler, lr_lambda=...):
    """The first rate times `lr_lambda(epoch)`; a list has a function for each group."""

    _functions = ("lr_lambdas",)

    def _prepare(self) -> None:
        self.lr_lambdas = per_group(self.optimizer, self.__dict__.pop("lr_lambda"))

    def get_lr(self) -> list[Any]:
        return [b * f(self.last_epoch) for b, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


def _share_of_cosine(done: float) -> float:
    """How far a half wave is down."""
    return (1 - math.cos(math.pi * done)) / 2


class _WithMomentum(LRScheduler):
    """Lets momentum cycle, or the first of Adam's betas."""

    def _prepare(self) -> None:
        defaults, groups = self.optimizer.defaults, self.optimizer.param_groups
        self.use_beta1 = "betas" in defaults
        fits = not self.cycle_momentum or self.use_beta1 or "momentum" in defaults
        check(fits, "cycle_momentum needs an optimizer with momentum or betas", ValueError)
        for name in ("base_momentum", "max_momentum"):
            values = per_group(self.optimizer, getattr(self, name))
            setattr(self, f"{name}s", values)
            if self.cycle_momentum and self.last_epoch == -1:
                for group, value in zip(groups, values, strict=True):
                    group[name] = value

    def _set_momentum(self, group: Group, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class OneCycleLR(
    _WithMomentum,
    **{"max_lr": ..., "total_steps": None, "epochs": None, "steps_per_epoch": None},
    **{"pct_start": 0.3, "anneal_strategy": "cos", "cycle_momentum": True, "base_momentum": 0.85},
    **{"max_momentum": 0.95, "div_factor": 25.0, "final_div_factor": 1e4, "three_phase": False},
):
    """Up to `max_lr` and down to next to nothing, momentum the other way (Smith, 2018)."""

    def _prepare(self) -> None:
        counts = [vars(self)["total_steps"]]
        counts = [self.epochs, self.steps_per_epoch] if counts == [None] else counts
        fits = all(isinstance(count, int) and count > 0 for count in counts)
        check(fits, "needs total_steps, or epochs and steps_per_epoch", ValueError)
        self.total_steps = math.prod(counts)
        fits = isinstance(self.pct_start, float) and 0 <= self.pct_start <= 1
        check(fits, f"pct_start is no float between 0 and 1: {self.pct_start}", ValueError)
        told = f"anneal_strategy is neither cos nor linear: {self.anneal_strategy}"
        check(self.anneal_strategy in {"cos", "linear"}, told, ValueError)
        rates, groups = per_group(self.optimizer, self.max_lr), self.optimizer.param_groups
        for group, rate in zip(groups, rates, strict=True) if self.last_epoch == -1 else ():
            first = rate / self.div_factor
            group.update(initial_lr=first, max_lr=rate, min_lr=first / self.final_div_factor)
        super()._prepare()

    def get_lr(self) -> list[Any]:
        """Return the groups' rates at `last_epoch`; set their momentum too."""
        groups, last = self.optimizer.param_groups, self.total_steps - 1
        check(self.last_epoch <= last + 1, f"more than {self.total_steps} steps", ValueError)
        top = self.pct_start * self.total_steps - 1
        turns = [(0, "initial_lr"), (top, "max_lr"), (last, "min_lr")]
        if self.three_phase:
            turns.insert(2, (2 * top, "initial_lr"))
        i = bisect_left(turns[1:-1], (self.last_epoch,))
        (start, first), (end, then) = turns[i : i + 2]
        done = (self.last_epoch - start) / (end - start)
        done = _share_of_cosine(done) if self.anneal_strategy == "cos" else done
        for group in groups if self.cycle_momentum else ():
            names = ("base_momentum" if x == "max_lr" else "max_momentum" for x in (first, then))
            a, b = (group[name] for name in names)
            self._set_momentum(group, a + (b - a) * done)
        return [group[first] + (group[then] - group[first]) * done for group in groups]


class CyclicLR(
    _WithMomentum,
    **{"base_lr": ..., "max_lr": ..., "step_size_up": 2000, "step_size_down": None},
    **{"mode": "triangular", "gamma": 1.0, "scale_fn": None, "scale_mode": "cycle"},
    **{"cycle_momentum": True, "base_momentum": 0.8, "max_momentum": 0.9},
):
    """From `base_lr` to `max_lr` and back, again and again (Smith, 2017)."""

    _functions = ("_scale_fn_custom",)

    def _prepare(self) -> None:
        lows = per_group(self.optimizer, self.base_lr)
        if self.last_epoch == -1:
            self._set(lows)
        self.max_lrs = per_group(self.optimizer, self.max_lr)
        up = float(self.step_size_up)
        self.total_size = up + float(up if self.step_size_down is None else self.step_size_down)
        self.step_ratio = up / self.total_size
        self._scale_fn_custom = [self.__dict__.pop("scale_fn")]
        if self._scale_fn_custom == [None]:
            known = self.mode in {"triangular", "triangular2", "exp_range"}
            check(known, "mode is invalid and scale_fn is None", ValueError)
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"
        super()._prepare()

    def _begin(self) -> None:
        super()._begin()
        self.base_lrs = per_group(self.optimizer, self.base_lr)

    def scale_fn(self, x: float) -> Any:
        """Return the height of a cycle, by its number or by that of the step."""
        if self._scale_fn_custom != [None]:
            return self._scale_fn_custom[0](x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list[Any]:
        """Return the groups' rates at `last_epoch`; set their momentum too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x, ratio = 1.0 + self.last_epoch / self.total_size - cycle, self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rows = zip(
            *(self.optimizer.param_groups, self.base_momentums, self.max_momentums), strict=True
        )
        for group, low, high in rows if self.cycle_momentum else ():
            self._set_momentum(group, high - (high - low) * height)
        ends = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in ends]


class CosineAnnealingWarmRestarts(LRScheduler, T_0=..., T_mult=1, eta_min=0.0):
    """Half a wave down, then up at once (Loshchilov and Hutter, 2017)."""

    def _prepare(self) -> None:
        for name, least in (("T_0", 1), ("T_mult", 1), ("eta_min", -math.inf)):
            value = getattr(self, name)
            fits = isinstance(value, (int, float) if name == "eta_min" else int) and value >= least
            check(fits, f"{name} is {value}", ValueError)
        self.T_i, self.T_cur = self.T_0, self.last_epoch

    def get_lr(self) -> list[Any]:
        share, low = 1 - _share_of_cosine(self.T_cur / self.T_i), self.eta_min
        return [low + (rate - low) * share for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = epoch or 0
            check(epoch >= 0, f"Expected non-negative epoch, but got {epoch}", ValueError)
            first, factor, restarts = self.T_0, self.T_mult, 0
            self.T_cur = epoch % first if factor == 1 else epoch
            if factor > 1 and epoch >= first:
                restarts = int(math.log(epoch / first * (factor - 1) + 1, factor))
                self.T_cur = epoch - first * (factor**restarts - 1) / (factor - 1)
            self.T_i = first * factor**restarts
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


def _check_together(schedulers: Sequence[Any], optimizer: Any) -> None:
    check(len(schedulers) > 0, "expects at least one scheduler", ValueError)
    optimizer = optimizer or schedulers[0].optimizer
    for one in schedulers:
        check(hasattr(one, "optimizer"), f"{one} has no optimizer", TypeError)
        waits = isinstance(one, ReduceLROnPlateau)
        check(not waits, "ReduceLROnPlateau needs a metric, and can't be among others", ValueError)
        check(one.optimizer is optimizer, f"{one} is another optimizer's", ValueError)


class SequentialLR(LRScheduler, schedulers=..., milestones=...):
    """One scheduler after the other: the next from each of `milestones` on."""

    def _prepare(self) -> None:
        self._schedulers = self.__dict__.pop("schedulers")
        self._milestones = self.__dict__.pop("milestones")
        _check_together(self._schedulers, self.optimizer)
        fits = len(self._milestones) == len(self._schedulers) - 1
        check(fits, "needs a milestone between two schedulers", ValueError)

    def _begin(self) -> None:
        self._set([group["initial_lr"] for group in self.optimizer.param_groups])
        _take_back(self._schedulers)
        self.last_epoch += 1
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back(schedulers: Sequence[Any]) -> None:
    """The step that each scheduler made when it was made is none."""
    for one in schedulers:
        if hasattr(one, "_schedulers"):
            _take_back(one._schedulers)
        else:
            one.last_epoch -= 1


class ReduceLROnPlateau(
    LRScheduler,
    **{"mode": "min", "factor": 0.1, "patience": 10, "threshold": 1e-4, "threshold_mode": "rel"},
    **{"cooldown": 0, "min_lr": 0.0, "eps": 1e-8},
):
    """Times `factor` when `step(metric)` has seen no better metric for `patience` epochs."""

    def _begin(self) -> None:
        fits = self.mode in {"min", "max"} and self.threshold_mode in {"rel", "abs"}
        fits = fits and self.factor < 1.0
        check(fits, "factor should be < 1, mode min or max, threshold_mode rel or abs", ValueError)
        self.min_lrs, self.last_epoch = per_group(self.optimizer, self.min_lr), 0
        self._reset()
        self._last_lr = self._rates()

    def _reset(self) -> None:
        self.cooldown_counter = self.num_bad_epochs = 0
        self.best = self.mode_worse = math.inf if self.mode == "min" else -math.inf

    @property
    def in_cooldown(self) -> bool:
        return bool(self.cooldown_counter > 0)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go on to the next epoch, which has this metric."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        sign = 1 if self.mode == "min" else -1
        margin = sign * self.threshold
        bar = self.best - margin if self.threshold_mode == "abs" else self.best * (1 - margin)
        self.num_bad_epochs += 1
        if sign * float(metrics) < sign * bar:
            self.best, self.num_bad_epochs = float(metrics), 0
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        rates = [float(rate) for rate in self._rates()]
        if self.num_bad_epochs > self.patience:
            if len(rates) != len(self.min_lrs):
                check(not isinstance(self.min_lr, (list, tuple)), "min_lrs are of other groups")
                self.min_lrs = [self.min_lr] * len(rates)
            lower = [max(r * self.factor, low) for r, low in zip(rates, self.min_lrs, strict=True)]
            rates = [n if r - n > self.eps else r for r, n in zip(rates, lower, strict=True)]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._set(rates)
