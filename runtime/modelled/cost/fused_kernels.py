"""What the optimizers' `_fused_` operators take: everything read once, and what changes written.

Source: native/cuda/fused_adam_impl.cu, fused_adagrad_impl.cu, FusedSgdKernel.cu.
"""

from __future__ import annotations

from .elementwise_kernels import multi_tensor_plans
from .kernel_plan import OperatorCall, Plans, total_nbytes

# Lists of which an operator has one tensor for each parameter but does not write them.
# Gradients, and of all but SGD state_steps.
_ONLY_READ = {"_fused_adam": 2, "_fused_adamw": 2, "_fused_adagrad": 2, "_fused_sgd": 1}
FUSED = frozenset(_ONLY_READ)


def fused_plans(call: OperatorCall) -> Plans:
    """Plan a fused optimizer, whose lists stand one after another, the parameters first.

    Where the outputs are not known the fewest lists are taken: no amsgrad, no momentum.
    """
    base, inputs, outputs = call.base, call.inputs, call.outputs
    only_read = _ONLY_READ[base]
    has_steps = only_read == 2
    if outputs:
        count = max(1, (len(inputs) - len(outputs)) // only_read)
    else:
        count = max(1, len(inputs) // (2 if base == "_fused_sgd" else 5 if "adam" in base else 4))
        outputs = [*inputs[:count], *inputs[2 * count : len(inputs) - count * has_steps]]
    lists = min(5, max(2, len(inputs) // count - has_steps))
    params = inputs[:count]
    kind, what = "FusedOptimizer" * has_steps, _functor(base, lists, params[0].c_type)
    nbytes = total_nbytes(inputs) + total_nbytes(outputs)
    return multi_tensor_plans(kind, what, params, lists, nbytes, call.spec)


def _functor(base: str, lists: int, kind: str) -> str:
    if base == "_fused_sgd":
        return f"FusedSgdMathFunctor<{kind}, {lists}>"
    if base == "_fused_adagrad":
        return f"FusedAdagradMathFunctor<{kind}>"
    mode = f"(at::native::(anonymous namespace)::ADAM_MODE){int(base == '_fused_adamw')}"
    amsgrad = "true" if lists > 4 else "false"
    return f"FusedAdamMathFunctor<{kind}, {lists}, {mode}, {amsgrad}>"
