"""The base of the learning-rate schedulers, and how their rates reach the optimizer's groups.

Source: torch/optim/lr_scheduler.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import warnings
from types import FunctionType
from typing import Any

from ..engine.hooks import check
from ..engine.tensor import Tensor
from .optimizer import Optimizer, Options

_OLD_EPOCH = "The epoch parameter in `scheduler.step()` is deprecated; call it without one"
_EARLY = "Detected call of `lr_scheduler.step()` before `optimizer.step()`"


def per_group(optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each group: the list given, or the same for all."""
    count = len(optimizer.param_groups)
    given = list(value) if isinstance(value, (list, tuple)) else [value] * count
    check(len(given) == count, f"Expected {count} values, but got {len(given)}", ValueError)
    return [_own(one) for one in given]


def _own(value: Any) -> Any:
    """A rate may be a tensor, which schedulers write to."""
    return value.clone() if isinstance(value, Tensor) else value


class LRScheduler(Options, last_epoch=-1):
    """Base of the schedulers; subclass with `share(epoch)`, or with `get_lr()`.

    In a chain that a SequentialLR begins again, epoch 0 comes after an epoch -1.
    """

    share: Any
    last_epoch: Any
    eta_min = 0.0
    _resumes = False  # whether what is made with a `last_epoch` changes the rates at once
    _is_initial = _get_lr_called_within_step = False
    _functions: tuple[str, ...] = ()  # attributes that hold functions, which are not saved

    def __init__(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        fits = isinstance(optimizer, Optimizer)
        check(fits, f"{type(optimizer).__name__} is not an Optimizer", TypeError)
        self.optimizer = optimizer
        self.__dict__.update(self._given(args, kwargs))
        self._prepare()
        self._begin()

    def _prepare(self) -> None:
        """Check the options, and make of them what `get_lr` needs."""

    def _begin(self) -> None:
        groups = self.optimizer.param_groups
        for group in groups if self.last_epoch == -1 else ():
            group.setdefault("initial_lr", _own(group["lr"]))
        self.base_lrs = [_own(group["initial_lr"]) for group in groups]
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return the groups' rates at `last_epoch`, from those they have."""
        check(hasattr(self, "share"), "get_lr is the subclass's", NotImplementedError)
        ratio = self.share(self.last_epoch)
        first = self._is_initial and self.last_epoch == 0
        before = 1.0 if first else self.share(self.last_epoch - 1)
        if ratio == before or (self._is_initial and not first and not self._resumes):
            return self._rates()
        low, rates = self.eta_min, self._rates()
        if not before:  # up again from the lowest rate
            return [r + (b - low) * ratio for r, b in zip(rates, self.base_lrs, strict=True)]
        return [low + (rate - low) * (ratio / before) for rate in rates]

    def _shares_of_first(self) -> list[Any]:
        low, ratio = self.eta_min, self.share(self.last_epoch)
        return [low + (rate - low) * ratio for rate in self.base_lrs]

    def _rates(self) -> list[Any]:
        return [_own(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to `epoch`."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(f"{_EARLY}: the first learning rate is skipped", stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(_OLD_EPOCH, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        shared = epoch is not None and hasattr(self, "share")
        self._get_lr_called_within_step = True
        self._set(self._shares_of_first() if shared else self.get_lr())
        self._get_lr_called_within_step = False

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(float(rate))
            else:
                group["lr"] = rate
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions; of callable objects, their attributes."""
        saved = {key: value for key, value in vars(self).items() if key != "optimizer"}
        for name in self._functions:
            saved[name] = [None if _plain(f) else vars(f).copy() for f in saved[name]]
        if "_schedulers" in saved:
            saved["_schedulers"] = [one.state_dict() for one in saved["_schedulers"]]
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for number, state in enumerate(state_dict.get("_schedulers", ())):
            self._schedulers[number].load_state_dict(state)
        for name in self._functions:
            for function, state in zip(getattr(self, name), state_dict[name], strict=True):
                if state:
                    vars(function).update(state)
        apart = {"_schedulers", *self._functions}
        vars(self).update({key: value for key, value in state_dict.items() if key not in apart})


def _plain(function: Any) -> bool:
    return isinstance(function, (FunctionType, type(None)))
