"""How far one distribution is from another. Source: torch/distributions/kl.py."""

# mypy: disable-error-code="attr-defined, no-any-return, misc"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.aten import aten
from ..engine.tensor import Tensor
from ..nn import functional as F
from .continuous import Beta, Dirichlet, Gamma, Laplace, MultivariateNormal, Normal
from .discrete import Bernoulli, Categorical, Independent


def kl_divergence(p: Any, q: Any) -> Tensor:
    """Return how far q is from p."""
    if isinstance(p, Independent) and isinstance(q, Independent):
        return p._summed(kl_divergence(p.base_dist, q.base_dist))
    if isinstance(p, Laplace) and isinstance(q, Normal):
        ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
        return ratio * ratio + apart * apart / 2 - (ratio * ratio * (2 / math.pi)).log() / 2 - 1
    for kind in type(p).__mro__:
        if kind in _DIVERGENCES and isinstance(q, kind):
            return _DIVERGENCES[kind](p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for {type(p)} and {type(q)}")


def _normals(p: Normal, q: Normal) -> Tensor:
    ratio, apart = (p.scale / q.scale).pow(2), ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + apart - 1 - ratio.log())


def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


def _gammas(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    found = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return found + (q.rate - p.rate) * (a / p.rate)


def _dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    found = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return found + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    return yes + (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))


def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = p.loc.array.shape[-1]
    spread = aten.linalg_solve_of(q.scale_tril, p.scale_tril).pow(2).sum((-2, -1))
    apart = (q.loc - p.loc).unsqueeze(-1)
    far = aten.linalg_solve_of(q.scale_tril, apart).pow(2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + far - n)


_DIVERGENCES: dict[Any, Callable[[Any, Any], Tensor]] = {
    Normal: _normals,
    Laplace: _laplaces,
    Gamma: _gammas,
    Dirichlet: _dirichlets,
    Beta: lambda p, q: _dirichlets(p._both, q._both),
    Bernoulli: _bernoullis,
    Categorical: lambda p, q: (p.probs * (p.logits - q.logits)).sum(-1),
    MultivariateNormal: _multivariate,
}
