"""Distributions of real numbers. Source: torch/distributions/."""

# mypy: disable-error-code="attr-defined, no-any-return, misc"

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ..core.aten import aten
from ..core.dtypes import finfo
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .base import Distribution, Shape, random, tensors


class _Located(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"loc": "real", "scale": "positive"}

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = tensors(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    mean = mode = property(lambda self: self.loc)


class Normal(_Located):
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.loc + random(self._shaped(sample_shape), self.loc, True) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        apart = self._valid("real", value) - self.loc
        spread = -(apart**2) / (2 * self.variance)
        return spread - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"low": "real", "high": "real"}

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high = tensors(low, high)
        super().__init__(self.low.shape, (), validate_args)
        ordered = bool((self.low.array < self.high.array).all())
        told = "Uniform is not defined when low>= high"
        check(ordered or not self._validate_args, told, ValueError)

    mean = property(lambda self: (self.high + self.low) / 2)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        share = random(self._shaped(sample_shape), self.low)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            fits = (self.low.array <= value.array) & (value.array <= self.high.array)
            check(bool(fits.all()), "Expected value argument to be within the support", ValueError)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Laplace(_Located):
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        share = random(self._shaped(sample_shape), self.loc)
        return self.icdf(share.clamp(min=float(finfo(share.dtype).eps) / 4))  # at 0 it is infinite

    def log_prob(self, value: Tensor) -> Tensor:
        apart = self._valid("real", value) - self.loc
        return -(2 * self.scale).log() - apart.abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        apart = self._valid("real", value) - self.loc
        return 0.5 - 0.5 * apart.sign() * (-apart.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        apart = value - 0.5
        return self.loc - self.scale * apart.sign() * (-2 * apart.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Gamma(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"concentration": "positive", "rate": "positive"}

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self.concentration, self.rate = tensors(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._shaped(sample_shape)
        return aten._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        a, rate, value = self.concentration, self.rate, self._valid("nonnegative", value)
        return aten.xlogy(a, rate) + aten.xlogy(a - 1, value) - rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Dirichlet(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"concentration": "positive"}

    def __init__(self, concentration: Tensor, validate_args: Any = None) -> None:
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        total, a = self.concentration.sum(-1, True), self.concentration
        return a * (total - a) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        each = aten._standard_gamma(self.concentration.expand(self._shaped(sample_shape)))
        return each / each.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        found = aten.xlogy(a - 1.0, self._valid("simplex", value)).sum(-1)
        return found + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.array.shape[-1]
        total = a.sum(-1)
        found = a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
        return found - ((a - 1.0) * a.digamma()).sum(-1)


class Beta(Distribution):
    has_rsample = True
    rules: ClassVar[dict[str, str]] = {"concentration1": "positive", "concentration0": "positive"}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        self.concentration1, self.concentration0 = tensors(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)
        self._both = Dirichlet(aten.stack([self.concentration1, self.concentration0], -1), False)

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._both.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._valid("unit", value)
        return self._both.log_prob(aten.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._both.entropy()


class MultivariateNormal(Distribution):
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: Any = None,
    ) -> None:  # fmt: skip
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        told = "Exactly one of covariance_matrix, precision_matrix or scale_tril may be specified."
        check(len(given) == 1, told, ValueError)
        if scale_tril is None:
            whole = given[0] if precision_matrix is None else aten.linalg_inv(precision_matrix)
            scale_tril = aten.linalg_cholesky(whole)
        batch = np.broadcast_shapes(scale_tril.array.shape[:-2], loc.array.shape[:-1])
        n = loc.array.shape[-1]
        self.loc, self.scale_tril = loc.expand(*batch, n), scale_tril.expand(*batch, n, n)
        super().__init__(batch, (n,), validate_args)

    mean = mode = property(lambda self: self.loc)
    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT)
    precision_matrix = property(lambda self: aten.linalg_inv(self.covariance_matrix))
    variance = property(lambda self: self.scale_tril.pow(2).sum(-1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = random(self._shaped(sample_shape), self.loc, True)
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        apart = (self._valid("rows", value) - self.loc).unsqueeze(-1)
        wide = self.scale_tril.expand(*apart.array.shape[:-2], *self.scale_tril.array.shape[-2:])
        far = aten.linalg_solve_of(wide, apart).squeeze(-1).pow(2).sum(-1)
        size = self.loc.array.shape[-1] * math.log(2 * math.pi)
        return -0.5 * (size + far) - self._half_log_det()

    def entropy(self) -> Tensor:
        n = self.loc.array.shape[-1]
        return 0.5 * n * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
