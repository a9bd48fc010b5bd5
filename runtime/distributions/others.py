"""Distributions that fewer scripts ask for. Source: torch/distributions/."""

# mypy: disable-error-code="attr-defined, no-any-return, misc, union-attr, return-value, arg-type"

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..nn import functional as F
from .base import Distribution, Shape, random, tensors
from .continuous import Exponential, Gamma, Normal
from .discrete import Categorical, Poisson, _Chances
from .transforms import (
    AffineTransform,
    ExpTransform,
    PowerTransform,
    TransformedDistribution,
)


def _stream() -> Any:
    from ..ops.creation import default_generator

    return default_generator.stream


def log_uniform(shape: Shape, like: Tensor) -> Tensor:
    kind = np.finfo(like.dtype)
    return random(shape, like).clamp(float(kind.tiny), 1 - float(kind.eps)).log()


class Gumbel(Normal):
    mean = property(lambda self: self.loc + self.scale * 0.57721566490153286060)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.loc - self.scale * (-log_uniform(self._shaped(sample_shape), self.loc)).log()

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - self._valid("real", value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return (-(-(value - self.loc) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + 0.57721566490153286060)


class Cauchy(Normal):
    mean = property(lambda self: aten.full_like(self.loc, math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: aten.full_like(self.loc, math.inf))
    stddev = Distribution.stddev

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        share = random(self._shaped(sample_shape), self.loc) - 0.5
        return self.loc + (share * math.pi).tan() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self._valid("real", value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (y**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class HalfNormal(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"scale": "positive"}

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        (self.scale,) = tensors(scale)
        self.base_dist = Normal(self.scale * 0, self.scale, validate_args=False)
        super().__init__(self.scale.shape, (), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = property(lambda self: aten.zeros_like(self.scale))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        found = self.base_dist.log_prob(self._valid("nonnegative", value)) + math.log(2)
        return aten.where(value >= 0, found, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class Chi2(Gamma):
    def __init__(self, df: Any, validate_args: Any = None) -> None:
        (half,) = tensors(df)
        super().__init__(0.5 * half, 0.5, validate_args)

    df = property(lambda self: self.concentration * 2)


class StudentT(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"df": "positive", "loc": "real", "scale": "positive"}

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None
    ) -> None:
        self.df, self.loc, self.scale = tensors(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    mean = property(lambda self: aten.where(self.df <= 1, math.nan, self.loc))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        found = self.scale.pow(2) * self.df / (self.df - 2)
        found = aten.where(self.df > 2, found, math.inf)
        return aten.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._shaped(sample_shape)
        spread = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * (random(shape, self.loc, True) * (spread / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        y, df = (self._valid("real", value) - self.loc) / self.scale, self.df
        whole = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        whole = whole + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - whole

    def entropy(self) -> Tensor:
        df = self.df
        found = (0.5 * df).lgamma() + math.lgamma(0.5) - (0.5 * (df + 1)).lgamma()
        steep = (0.5 * (df + 1)).digamma() - (0.5 * df).digamma()
        return self.scale.log() + 0.5 * (df + 1) * steep + 0.5 * df.log() + found


class Geometric(_Chances):
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: aten.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            some = bool((self.probs.array > 0).all())
            check(some, "Expected parameter probs of Geometric to be positive", ValueError)

    def _drawn(self, sample_shape: Shape) -> Tensor:
        share = log_uniform(self._shaped(sample_shape), self.probs)
        return (share / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = aten.broadcast_tensors(self._valid("count", value), self.probs)
        probs = aten.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        both = F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return both / self.probs


class _Counted(_Chances):
    """Of a number of trials, and chances of one."""

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        given = "probs" if logits is None else "logits"
        count = total_count if isinstance(total_count, Tensor) else float(total_count)
        mine, self.total_count = tensors(self.__dict__[given], count)
        self.__dict__[given], self.batch_shape = mine, mine.shape


class Binomial(_Counted):
    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _drawn(self, sample_shape: Shape) -> Tensor:
        counts, shape = self.total_count.array.astype(np.int64), self._shaped(sample_shape)
        drawn = _stream().binomial(counts, self.probs.array, shape)
        return wrap(np.asarray(drawn).astype(self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        n, value = self.total_count, self._valid("count", value)
        few = n * self.logits.clamp(min=0) + n * (-self.logits.abs()).exp().log1p()
        ways = (value + 1).lgamma() + (n - value + 1).lgamma()
        return value * self.logits - ways - (few - (n + 1).lgamma())


class NegativeBinomial(_Counted):
    mean = property(lambda self: self.total_count * self.logits.exp())
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def _drawn(self, sample_shape: Shape) -> Tensor:
        rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        return Poisson(rates.sample(sample_shape), validate_args=False).sample()

    def log_prob(self, value: Tensor) -> Tensor:
        n, value = self.total_count, self._valid("count", value)
        shares = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return shares - aten.where(n + value == 0.0, 0.0, ways)


class Multinomial(Distribution):
    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        check(isinstance(total_count, int), "inhomogeneous total_count", NotImplementedError)
        self.total_count, self._one = total_count, Categorical(probs, logits, validate_args)
        super().__init__(self._one.batch_shape, self._one.param_shape[-1:], validate_args)

    probs, logits = property(lambda self: self._one.probs), property(lambda self: self._one.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _drawn(self, sample_shape: Shape) -> Tensor:
        each = self._one.sample((self.total_count, *sample_shape))
        return F.one_hot(each, self.event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = aten.broadcast_tensors(self.logits, self._valid("rows", value))
        logits = aten.where((value == 0) & (logits == -math.inf), 0.0, logits)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)


class Pareto(TransformedDistribution):
    def __init__(self, scale: Any, alpha: Any, validate_args: Any = None) -> None:
        self.scale, self.alpha = tensors(scale, alpha)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha), steps, validate_args)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    def __init__(self, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.scale, self.concentration = tensors(scale, concentration)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(Exponential(aten.ones_like(self.scale)), steps, validate_args)

    def _moment(self, n: int) -> Tensor:
        return (1 + n * self.concentration.reciprocal()).lgamma().exp()

    mean = property(lambda self: self.scale * self._moment(1))
    variance = property(lambda self: self.scale**2 * (self._moment(2) - self._moment(1) ** 2))

    def entropy(self) -> Tensor:
        less = 0.57721566490153286060 * (1 - self.concentration.reciprocal())
        return less + (self.scale * self.concentration.reciprocal()).log() + 1


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
