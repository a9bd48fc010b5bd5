"""A distribution that is one of several, each with a chance. Source: torch/distributions/."""

# mypy: disable-error-code="attr-defined, no-any-return"

from __future__ import annotations

from typing import Any

from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..nn import functional as F
from .base import Distribution, Shape
from .discrete import Categorical


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
