"""Transforms of distributions, and what is distributed so.

Each has its formula, the formula back, and the logarithm of how far it stretches.
Source: torch/distributions/transforms.py.
"""

# mypy: disable-error-code="attr-defined, no-any-return, misc"

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..nn import functional as F
from .base import Distribution, Shape


class Transform:
    """Subclass with `_call`, `_inverse` and `log_abs_det_jacobian`; `t.inv` is the way back."""

    bijective = True
    event_dim = 0  # how many dimensions one element of it has
    sign: Any = 1

    def __init__(self, cache_size: int = 0) -> None:
        check(cache_size in (0, 1), "cache_size must be 0 or 1", ValueError)
        self._cache_size, self._seen = cache_size, (None, None)

    def __call__(self, x: Any) -> Any:
        """What `x` becomes; with a cache the same object again for the same object."""
        if not self._cache_size:
            return self._call(x)
        if self._seen[0] is not x:
            self._seen = (x, self._call(x))
        return self._seen[1]

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        if self._seen[1] is not y:
            self._seen = (self._inverse(y), y)
        return self._seen[0]

    @property
    def inv(self) -> Any:
        return _Inverse(self)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        return shape

    inverse_shape = forward_shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._of, self.event_dim, self.bijective = (
            transform,
            transform.event_dim,
            transform.bijective,
        )

    inv = property(lambda self: self._of)
    sign = property(lambda self: self._of.sign)

    def __call__(self, x: Any) -> Any:
        return self._of._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._of.log_abs_det_jacobian(y, x)


def _summed(x: Any, dims: int) -> Any:
    return x.sum(tuple(range(-dims, 0))) if dims else x


class ComposeTransform(Transform):
    """One after the other."""

    def __init__(self, parts: Sequence[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [*parts]
        self.event_dim = max([part.event_dim for part in self.parts], default=0)
        self.bijective = all(part.bijective for part in self.parts)
        self.sign = math.prod(part.sign for part in self.parts)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return aten.zeros_like(x)
        total: Any = 0
        for part in self.parts:
            after = part(x)
            stretch = part.log_abs_det_jacobian(x, after)
            total, x = total + _summed(stretch, self.event_dim - part.event_dim), after
        return total


class IndependentTransform(Transform):
    """Some of the last dimensions count as one event."""

    def __init__(
        self, base: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base, reinterpreted_batch_ndims
        self.event_dim = base.event_dim + reinterpreted_batch_ndims

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        stretch = self.base_transform.log_abs_det_jacobian(x, y)
        return _summed(stretch, self.reinterpreted_batch_ndims)


class ExpTransform(Transform):
    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    def _call(self, x: Any) -> Any:
        kind = _finfo(x)
        return x.sigmoid().clamp(float(kind.tiny), 1.0 - float(kind.eps))

    def _inverse(self, y: Any) -> Any:
        kind = _finfo(y)
        y = y.clamp(float(kind.tiny), 1.0 - float(kind.eps))
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(Transform):
    def _call(self, x: Any) -> Any:
        return F.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x)


class TanhTransform(Transform):
    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Transform):
    bijective = False

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """`loc + scale * x`."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, Tensor):
            stretch = self.scale.abs().log()
        else:
            stretch = aten.full_like(x, math.log(abs(self.scale)))
        if not self.event_dim:
            return stretch.expand(x.shape)
        return _summed(stretch.expand(x.shape), self.event_dim)


class SoftmaxTransform(Transform):
    bijective, event_dim = False, 1

    def _call(self, x: Any) -> Any:
        shares = (x - x.max(-1, True)[0]).exp()
        return shares / shares.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """From real numbers to shares of one, of which there is one more."""

    event_dim = 1

    def forward_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] - 1)

    def _call(self, x: Any) -> Any:
        left = _left(x)
        z = SigmoidTransform()._call(x - left.log())
        rest = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cut = y[..., :-1]
        rest = (1 - cut.cumsum(-1)).clamp(min=float(_finfo(y).tiny))
        return cut.log() - rest.log() + _left(cut).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _left(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)


def _left(x: Any) -> Any:
    count = x.shape[-1]
    return count + 1 - aten.ones_like(x).cumsum(-1)


def _finfo(x: Any) -> Any:
    from ..core.dtypes import finfo

    return finfo(x.dtype)


identity_transform = ComposeTransform([])


class TransformedDistribution(Distribution):
    """What the transforms make of samples of a distribution."""

    def __init__(self, base: Any, transforms: Any, validate_args: Any = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else [*transforms]
        kinds = all(isinstance(t, Transform) for t in self.transforms)
        told = "transforms must be a Transform or a list of Transforms"
        check(kinds, told, ValueError)
        whole = ComposeTransform(self.transforms)
        more = whole.event_dim - len(base.event_shape)
        if more > 0:
            from .discrete import Independent

            base = Independent(base, more)
        self.base_dist, self.has_rsample = base, base.has_rsample
        shape = (*base.batch_shape, *base.event_shape)
        dims = max(whole.event_dim, len(base.event_shape))
        cut = len(shape) - dims
        shape = whole.forward_shape(shape)
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def sample(self, sample_shape: Shape = ()) -> Any:
        x = self.base_dist.sample(sample_shape)
        return ComposeTransform(self.transforms)(x).detach()

    def rsample(self, sample_shape: Shape = ()) -> Any:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Any) -> Any:
        dims, found = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            stretch = transform.log_abs_det_jacobian(x, value)
            found = found - _summed(stretch, dims - transform.event_dim)
            value = x
        inner = self.base_dist.log_prob(value)
        return found + _summed(inner, dims - len(self.base_dist.event_shape))

    def _back(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return value

    def cdf(self, value: Any) -> Any:
        return self._directed(self.base_dist.cdf(self._back(value)))

    def icdf(self, value: Any) -> Any:
        return ComposeTransform(self.transforms)(self.base_dist.icdf(self._directed(value)))

    def _directed(self, value: Any) -> Any:
        sign = math.prod([t.sign for t in self.transforms])
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5
