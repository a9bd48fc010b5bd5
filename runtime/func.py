"""torch.func's names."""

from .derivatives.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from .nn.stateless import functional_call, stack_module_state

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp"]
__all__ += ["linearize", "stack_module_state", "vjp", "vmap"]
