"""Learning rates over time. `scheduler.step()` comes after `optimizer.step()`.

Most schedules are a share s(t) of the first rate: a step multiplies a group's rate (above
`eta_min`) by s(t) / s(t - 1), so that several schedulers of one optimizer multiply.

Source: torch/optim/lr_scheduler.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..engine.hooks import check
from .lr_combined import ReduceLROnPlateau, SequentialLR
from .lr_cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
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
