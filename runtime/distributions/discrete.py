"""Distributions of few values, and those made of others. Source: torch/distributions/."""

# mypy: disable-error-code="attr-defined, no-any-return, union-attr"

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Size, Tensor
from ..nn import functional as F
from .base import Distribution, Shape, hold, tensors


class _Chances(Distribution):
    """Given as probabilities, or as logits; each is made of the other when it is asked for."""

    binary = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        one = (probs is None) != (logits is None)
        check(one, "Either `probs` or `logits` must be specified, but not both.", ValueError)
        (given,) = tensors(probs if logits is None else logits)
        if not self.binary:
            few = given.array.ndim > 0
            check(few, "`probs` and `logits` must be at least one-dimensional.", ValueError)
            if logits is None:
                given = given / given.sum(-1, True)
            else:
                given = given - given.logsumexp(-1, True)
        self.__dict__["probs" if logits is None else "logits"] = given
        shape = given.shape if self.binary else given.shape[:-1]
        super().__init__(shape, (), validate_args)

    @property
    def rules(self) -> dict[str, str]:  # type: ignore[override]
        return {"probs": "unit", "logits": "real"} if self.binary else _ROWS

    @cached_property
    def probs(self) -> Tensor:
        return self.logits.sigmoid() if self.binary else F.softmax(self.logits, -1)

    @cached_property
    def logits(self) -> Tensor:
        kept = self.probs.clamp(*_within(self.probs))
        return kept.log() - (-kept).log1p() if self.binary else kept.log()

    @property
    def param_shape(self) -> Size:
        return (self.__dict__.get("probs", self.__dict__.get("logits"))).shape


_ROWS = {"probs": "simplex", "logits": "rows"}


def _within(probs: Tensor) -> tuple[float, float]:
    eps = float(np.finfo(probs.dtype).eps)
    return eps, 1 - eps


class Bernoulli(_Chances):
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: (self.probs >= 0.5).to(self.probs.dtype))

    def _drawn(self, sample_shape: Shape) -> Tensor:
        return aten.bernoulli(self.probs.expand(self._shaped(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = aten.broadcast_tensors(self.logits, self._valid("boolean", value))
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(_Chances):
    binary = False
    mean = variance = property(lambda self: aten.full(tuple(self.batch_shape), math.nan))
    mode = property(lambda self: self.probs.argmax(-1))

    def _drawn(self, sample_shape: Shape) -> Tensor:
        flat = self.probs.reshape(-1, self.param_shape[-1])
        many = math.prod(sample_shape)
        return aten.multinomial(flat, many, True).T.reshape(self._shaped(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            hold("count", value, "the value argument", "Categorical")
            most = value.array.max(initial=0) < self.param_shape[-1]
            check(bool(most), "Expected value argument to be within the support", ValueError)
        index = value.long().unsqueeze(-1)
        shape = np.broadcast_shapes(index.array.shape[:-1], self.logits.array.shape[:-1])
        logits = self.logits.expand(*shape, -1)
        return logits.gather(-1, index.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=float(np.finfo(self.logits.dtype).min))
        return -(logits * self.probs).sum(-1)


class Independent(Distribution):
    """Some of the batch's last dimensions count as one event."""

    def __init__(self, base: Any, reinterpreted_batch_ndims: int, validate_args: Any = None):
        self.base_dist, n = base, reinterpreted_batch_ndims
        check(n <= len(base.batch_shape), "more dimensions than the batch has", ValueError)
        cut = len(base.batch_shape) - n
        self.reinterpreted_batch_ndims, self.has_rsample = n, base.has_rsample
        event = (*base.batch_shape[cut:], *base.event_shape)
        super().__init__(base.batch_shape[:cut], event, validate_args)

    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def _summed(self, x: Tensor) -> Tensor:
        n = self.reinterpreted_batch_ndims
        return x.sum(tuple(range(-n, 0))) if n else x

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def _drawn(self, sample_shape: Shape) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._summed(self.base_dist.entropy())


class MixtureSameFamily(Distribution):
    """Each of the components with a chance."""

    def __init__(self, mixture: Any, component: Any, validate_args: Any = None) -> None:
        told = "the mixture distribution needs to be a Categorical"
        check(type(mixture) is Categorical, told, ValueError)
        kind = isinstance(component, Distribution)
        check(kind, "the component distribution needs to be a Distribution", ValueError)
        count, shape = mixture.param_shape[-1], component.batch_shape
        told = f"the mixture's {count} do not match the components' batch {tuple(shape)}"
        check(len(shape) > 0 and shape[-1] == count, told, ValueError)
        self.mixture_distribution, self.component_distribution = mixture, component
        self.has_rsample, self._n = False, len(component.event_shape)
        super().__init__(shape[:-1], component.event_shape, validate_args)

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.array.shape, *(1,) * self._n))

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._n)

    @property
    def variance(self) -> Tensor:
        within = (self._weights() * self.component_distribution.variance).sum(-1 - self._n)
        apart = self.component_distribution.mean - self.mean.unsqueeze(-1 - self._n)
        return within + (self._weights() * apart.pow(2)).sum(-1 - self._n)

    def log_prob(self, value: Tensor) -> Tensor:
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - self._n))
        shares = F.log_softmax(self.mixture_distribution.logits, -1)
        return (each + shares).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        each = self.component_distribution.cdf(value.unsqueeze(-1 - self._n))
        return (each * self.mixture_distribution.probs).sum(-1)

    def _drawn(self, sample_shape: Shape) -> Tensor:
        which = self.mixture_distribution.sample(sample_shape)
        each = self.component_distribution.sample(sample_shape)
        index = which.reshape((*which.array.shape, *(1,) * (self._n + 1)))
        gap = len(sample_shape) + len(self.batch_shape)
        index = index.expand((*each.array.shape[:gap], 1, *each.array.shape[gap + 1 :]))
        return each.gather(gap, index).squeeze(gap)
