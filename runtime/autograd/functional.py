"""torch.autograd.functional's names."""

from ..derivatives.functional import hessian, jacobian

__all__ = ["hessian", "jacobian"]
