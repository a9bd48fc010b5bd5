"""Samples of choices that gradients flow through. Source: torch/distributions/relaxed_*.py."""

# mypy: disable-error-code="attr-defined, assignment, no-any-return, misc, union-attr"

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.tensor import Tensor
from ..nn import functional as F
from .base import Shape, random, tensors
from .discrete import OneHotCategorical, _Chances
from .others import log_uniform
from .transforms import ExpTransform, SigmoidTransform, TransformedDistribution


class OneHotCategoricalStraightThrough(OneHotCategorical):
    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class LogitRelaxedBernoulli(_Chances):
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        share = random(self._shaped(sample_shape), self.logits)
        share = share.clamp(float(np.finfo(share.dtype).eps), 1 - float(np.finfo(share.dtype).eps))
        return (share.log() - (-share).log1p() + self.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = aten.broadcast_tensors(self.logits, self._valid("real", value))
        apart = logits - value * self.temperature
        return tensors(self.temperature)[0].log() + apart - 2 * apart.exp().log1p()


class _Softer(TransformedDistribution):
    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Softer):
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(_Chances):
    has_rsample, binary = True, False

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)
        self.event_shape = self.param_shape[-1:]

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        gumbel = -((-log_uniform(self._shaped(sample_shape), self.logits)).log())
        return F.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = aten.broadcast_tensors(self.logits, self._valid("rows", value))
        count, (warmth,) = self.param_shape[-1], tensors(self.temperature)
        whole = math.lgamma(count) + (count - 1) * warmth.log()
        return F.log_softmax(logits - value * warmth, -1).sum(-1) + whole


class RelaxedOneHotCategorical(_Softer):
    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits)
        super().__init__(base, ExpTransform(), validate_args)
