"""torch.distributions: densities, samples that gradients flow through, and divergences."""

from ..core.later import later
from .base import Distribution
from .continuous import Beta, Dirichlet, Gamma, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Categorical, Independent, MixtureSameFamily
from .divergences import kl_divergence

__all__ = ["Bernoulli", "Beta", "Categorical", "Dirichlet", "Distribution", "Gamma"]
__all__ += ["Independent", "Laplace", "MixtureSameFamily", "MultivariateNormal", "Normal"]
__all__ += ["Uniform", "kl_divergence"]
__getattr__ = later(__name__, {})  # further paths: distributions.normal.Normal
