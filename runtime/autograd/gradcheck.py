"""torch.autograd.gradcheck's names."""

from ..derivatives.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
