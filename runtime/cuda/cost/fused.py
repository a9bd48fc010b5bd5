"""What the optimizers' `_fused_` operators take: everything read once, and what changes written.

Source: native/cuda/fused_adam_impl.cu, fused_adagrad_impl.cu, FusedSgdKernel.cu.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..specs.device_spec import DeviceSpec
from .elementwise import multi_tensor_plans
from .kernel_plan import KernelPlan, Operand, nbytes_of
from .memory_bound import TYPES

_SPACE = "at::native::(anonymous namespace)::"
# Lists of which an operator has one tensor for each parameter but does not write them.
_ONLY_READ = {
    "_fused_adam": 2,  # gradients, state_steps
    "_fused_adamw": 2,
    "_fused_adagrad": 2,
    "_fused_sgd": 1,  # gradients
}
FUSED = frozenset(_ONLY_READ)


def fused_plans(
    base: str, inputs: Sequence[Operand], outputs: Sequence[Operand], spec: DeviceSpec
) -> tuple[KernelPlan, ...]:
    """The lists stand one after another, as in the operator's arguments; the parameters first.

    Where the outputs are not known the fewest lists are taken: no amsgrad, no momentum.
    """
    only_read = _ONLY_READ[base]
    has_steps = only_read == 2
    if outputs:
        count = max(1, (len(inputs) - len(outputs)) // only_read)
    else:
        count = max(1, len(inputs) // (2 if base == "_fused_sgd" else 5 if "adam" in base else 4))
        outputs = [*inputs[:count], *inputs[2 * count : len(inputs) - count * has_steps]]
    lists = min(5, max(2, len(inputs) // count - has_steps))
    nbytes = sum(map(nbytes_of, inputs)) + sum(map(nbytes_of, outputs))
    params = inputs[:count]
    name = (
        f"void {_SPACE}multi_tensor_apply_kernel<{_SPACE}"
        f"{'FusedOptimizer' if has_steps else ''}TensorListMetadata<{lists}>, "
        f"{_SPACE}{_functor(base, lists, params[0].dtype)}>"
    )
    return multi_tensor_plans(name, params, lists, nbytes, spec)


def _functor(base: str, lists: int, dtype: str) -> str:
    kind = TYPES.get(dtype, "float")
    if base == "_fused_sgd":
        return f"FusedSgdMathFunctor<{kind}, {lists}>"
    if base == "_fused_adagrad":
        return f"FusedAdagradMathFunctor<{kind}>"
    mode = int(base == "_fused_adamw")
    amsgrad = "true" if lists > 4 else "false"
    return f"FusedAdamMathFunctor<{kind}, {lists}, ({_SPACE}ADAM_MODE){mode}, {amsgrad}>"
