"""Schedulers of schedulers, and the one that waits for a metric.

Source: torch/optim/lr_scheduler.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..engine.hooks import check
from .scheduler import LRScheduler, per_group


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
