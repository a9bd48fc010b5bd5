"""Averages of a model's parameters over training: AveragedModel, and what goes with it.

Source: torch/optim/swa_utils.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..nn import Module
from ..nn.layers import _BatchNorm
from ..ops.creation import tensor
from ..ops.foreach import OPERATORS
from .scheduler import LRScheduler, per_group

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn"]
__all__ += ["get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """`decay` of the average and the rest of the parameter."""
    check(0.0 <= decay <= 1.0, f"Invalid decay value {decay}: not in [0, 1]", ValueError)
    return no_grad()(lambda mean, now, _: decay * mean + (1 - decay) * now)


def get_swa_avg_fn() -> Callable[..., Any]:
    """Return the mean of all, each with the same weight."""
    return no_grad()(lambda mean, now, count: mean + (now - mean) / (count + 1))


def _of_lists(weight_of: Callable[[Any], Any], one: Callable[..., Any]) -> Callable[..., None]:
    """Averages of lists of tensors: floating point in one operator, others one by one."""

    def update(means: Any, nows: Any, count: Any) -> None:
        if means[0].is_floating_point() or means[0].is_complex():
            OPERATORS["_foreach_lerp_"](means, nows, weight_of(count))
            return
        for mean, now in zip(means, nows, strict=True):
            mean.copy_(one(mean, now, count))

    return no_grad()(update)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return what `get_ema_avg_fn` does, for lists."""
    return _of_lists(lambda _: 1 - decay, get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return what `get_swa_avg_fn` does, for lists."""
    return _of_lists(lambda count: 1 / (count + 1), get_swa_avg_fn())


class AveragedModel(Module):  # type: ignore[misc]
    """A copy of a model, whose parameters are averages: `update_parameters(model)` adds to them."""

    n_averaged: Any

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        one = avg_fn is None or multi_avg_fn is None
        check(one, "Only one of avg_fn and multi_avg_fn should be provided", AssertionError)
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the average; buffers are copied or averaged too."""
        pairs = _pairs(self.module, model, "parameters")
        copied = _pairs(self.module, model, "buffers")
        if self.use_buffers:
            pairs, copied = pairs + copied, []
        if self.n_averaged == 0:
            pairs, copied = [], pairs + copied
        lists: dict[Any, list[tuple[Any, Any]]] = {}
        together = self.multi_avg_fn or get_swa_multi_avg_fn()
        for mean, now in pairs:
            alone = self.avg_fn or (None if self.multi_avg_fn or mean.is_cuda else get_swa_avg_fn())
            if alone is None:
                lists.setdefault((mean.device, mean.dtype), []).append((mean, now))
            else:
                mean.copy_(alone(mean, now, self.n_averaged.to(mean.device)))
        for (device, _), rows in lists.items():
            means, nows = (list(column) for column in zip(*rows, strict=True))
            together(means, nows, self.n_averaged.to(device))
        for mean, now in copied:
            mean.copy_(now)
        self.n_averaged += 1


def _pairs(averaged: Any, model: Any, kind: str) -> list[tuple[Any, Any]]:
    """The tensors of two models, detached and on the device of the first."""
    both = zip(getattr(averaged, kind)(), getattr(model, kind)(), strict=kind == "buffers")
    return [(mean.detach(), now.detach().to(mean.device)) for mean, now in both]


@no_grad()  # type: ignore[untyped-decorator]
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running statistics of batch normalizations anew, over what `loader` gives."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta, was_training = [norm.momentum for norm in norms], model.training
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # an average of all batches
    model.train()
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler, swa_lr=..., anneal_epochs=10, anneal_strategy="cos"):
    """From the rate that there is to `swa_lr`, where it stays."""

    def _prepare(self) -> None:
        rates = per_group(self.optimizer, self.__dict__.pop("swa_lr"))
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = self.__dict__.pop("anneal_strategy")
        told = f"anneal_strategy is neither cos nor linear: {self._anneal_strategy}"
        check(self._anneal_strategy in {"cos", "linear"}, told, ValueError)
        fits = isinstance(self.anneal_epochs, int) and self.anneal_epochs >= 0
        check(fits, f"anneal_epochs should be 0 or more: {self.anneal_epochs}", ValueError)

    def _done(self, step: int) -> float:
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._done(step - 1), self._done(step)
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self._rates(), strict=True):
            end = group["swa_lr"]
            first = end if before == 1 else (rate - before * end) / (1 - before)
            rates.append(end * now + first * (1 - now))
        return rates
