"""torch.distributions: densities, samples that gradients flow through, and divergences."""

from ..core.later import later
from .base import Distribution
from .continuous import (
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Uniform,
)
from .discrete import Bernoulli, Categorical, Independent, OneHotCategorical, Poisson
from .divergences import kl_divergence

__all__ = ["Bernoulli", "Beta", "Categorical", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal"]
__all__ += ["OneHotCategorical", "Poisson", "Uniform", "kl_divergence"]
_TRANSFORMS = "TransformedDistribution Transform AbsTransform AffineTransform ComposeTransform "
_TRANSFORMS += "ExpTransform IndependentTransform PowerTransform SigmoidTransform SoftmaxTransform "
_TRANSFORMS += "SoftplusTransform StickBreakingTransform TanhTransform identity_transform"
_OTHERS = "Binomial Cauchy Chi2 Geometric Gumbel HalfNormal Multinomial MixtureSameFamily Pareto "
_OTHERS += "NegativeBinomial StudentT Weibull"
_RELAXED = "OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical "
_RELAXED += "LogitRelaxedBernoulli ExpRelaxedCategorical"
__getattr__ = later(
    __name__,
    {"": "constraints transforms", ".transforms": _TRANSFORMS, ".others": _OTHERS}
    | {".relaxed": _RELAXED}
    | {".divergences": "register_kl"},
)
