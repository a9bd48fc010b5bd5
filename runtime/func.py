"""torch.func's names."""

from .derivatives.transforms import grad, grad_and_value, hessian, jacrev, vmap
from .nn.stateless import functional_call, stack_module_state

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacrev"]
__all__ += ["stack_module_state", "vmap"]
