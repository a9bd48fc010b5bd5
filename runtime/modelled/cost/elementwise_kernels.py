"""What elementwise operators take, reductions, lists of tensors at once, and fused optimizers.

Source: native/cuda/fused_adam_impl.cu, fused_adagrad_impl.cu, FusedSgdKernel.cu.
"""

from __future__ import annotations

from ..specs import DeviceSpec
from .kernel_names import elementwise_name, functor, reduce_name, unrolled_copy_name
from .kernel_plan import Operand, Operands, OperatorCall, Plans, names_of, total_nbytes
from .memory_bound import Pace, memory_plan

# A kernel that computes an offset for each element reaches this part of a plain stream: of
# elements of two bytes or less, of larger ones.
_STRIDED = (0.5, 0.72)
# One that reads a dtype and writes another.
_CAST = 0.7
# What a launch of multi_tensor_apply takes: tensors, and blocks of so many elements.
_TENSORS_A_LAUNCH = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
_BLOCKS_A_LAUNCH = 320
_CHUNK = 65536
_SPACE = "at::native::(anonymous namespace)::"
# Lists of which an operator has one tensor for each parameter but does not write them.
# Gradients, and of all but SGD state_steps.
_ONLY_READ = {"_fused_adam": 2, "_fused_adamw": 2, "_fused_adagrad": 2, "_fused_sgd": 1}
FUSED = frozenset(_ONLY_READ)


def elementwise_plans(call: OperatorCall) -> Plans:
    """Plan a kernel that reads every input and writes every output once."""
    inputs, outputs, out = call.inputs, call.outputs or call.inputs[:1], call.out
    if not inputs:
        return index_plans(call)
    simple = all(
        x.contiguous and (x.shape == out.shape or not x.shape) and x.dtype == out.dtype
        for x in (*inputs, *outputs)
    ) or (len(inputs) == 1 and inputs[0].contiguous and inputs[0].numel == out.numel)
    nbytes = total_nbytes(inputs) + total_nbytes(outputs)
    read = sum(1 for x in inputs if x.shape)
    tensors = len(inputs) + len(outputs)
    name = elementwise_name(call.base, inputs[0].dtype, tensors, simple, read)
    pace = Pace(1 if simple else _strided(out), cached=simple)
    return (memory_plan(name, nbytes, call.spec, -(-out.numel // 512), pace),)


def _strided(operand: Operand) -> float:
    return _STRIDED[names_of(operand.dtype).nbytes > 2]


def index_plans(call: OperatorCall) -> Plans:
    """Plan a kernel that makes each element from its place alone, as `arange` does."""
    name = f"void (anonymous namespace)::elementwise_kernel_with_index<int, {call.base}_cuda_out>"
    return (memory_plan(name, total_nbytes(call.outputs), call.spec, -(-call.out.numel // 256)),)


def fill_plans(call: OperatorCall) -> Plans:
    """Plan a kernel that writes the output once."""
    out = call.out
    name = elementwise_name(call.base, out.dtype, 1, True, 0)
    return (memory_plan(name, out.nbytes, call.spec, -(-out.numel // 512)),)


def copy_plans(call: OperatorCall) -> Plans:
    """Plan a copy, whose last input is the source: `copy_` is given its destination first."""
    source, out = call.inputs[-1], call.out
    ordered = source.contiguous and out.contiguous and source.numel == out.numel
    nbytes = source.nbytes + out.nbytes
    efficiency = 1 if ordered else _strided(out)
    narrowed = source.dtype == "float32" and out.dtype in ("float16", "bfloat16")
    if ordered and source.dtype != out.dtype and not narrowed:
        name, efficiency = unrolled_copy_name(), _CAST
    else:
        base = f"{out.dtype}_copy" if narrowed else "copy"
        name = elementwise_name(base, out.dtype, 2, ordered, 1)
    pace = Pace(efficiency, cached=efficiency == 1)
    return (memory_plan(name, nbytes, call.spec, -(-out.numel // 512), pace),)


def reduce_plans(call: OperatorCall) -> Plans:
    """Plan a kernel that reads the input once, with several blocks a result if there are few."""
    x, out = call.inputs[0], call.outputs[0]
    nbytes = x.nbytes + total_nbytes(call.outputs)
    kept = [n for n in out.shape if n != 1]
    inner = not kept or out.shape[: len(kept)] == x.shape[: len(kept)]
    grid = max(1, min(x.numel // 4096, 8 * call.spec.sm_count), -(-out.numel // 128))
    name, pace = reduce_name(call.base, x.dtype, inner), Pace(0.85, floors=1.6, flops=x.numel)
    sizes = (512, 16) if inner else (128, 2048)
    return (memory_plan(name, nbytes, call.spec, grid, pace, *sizes),)


def foreach_plans(call: OperatorCall) -> Plans:
    """Plan one kernel for as many tensors as its arguments hold, list after list."""
    base, inputs = call.base.removeprefix("_foreach_"), call.inputs
    given = inputs if base == "norm" else call.outputs or inputs
    tensors = [x for x in given if x.shape] or list(given)
    lists = min(5, max(1, len(inputs) // len(tensors)) + (not call.in_place and base != "norm"))
    what = f"{_foreach_functor(base)}, {functor(base, tensors[0].dtype, 2)}"
    return multi_tensor_plans("", what, tensors, lists, call.nbytes, call.spec)


def multi_tensor_plans(
    kind: str, what: str, tensors: Operands, lists: int, nbytes: int, spec: DeviceSpec
) -> Plans:
    """`nbytes` moved for `tensors`, which stand for that many lists of such ones.

    Args:
        kind: of the lists' metadata, as its name begins.
        what: the functors that the kernel is a template of.
    """
    metadata = f"{_SPACE}{kind}TensorListMetadata<{lists}>"
    name = f"void {_SPACE}multi_tensor_apply_kernel<{metadata}, {_SPACE}{what}>"
    chunks = sum(-(-x.numel // _CHUNK) for x in tensors)
    launches = max(-(-len(tensors) // _TENSORS_A_LAUNCH[lists]), -(-chunks // _BLOCKS_A_LAUNCH), 1)
    part, blocks = nbytes // launches, -(-chunks // launches)
    plan = memory_plan(name, part, spec, blocks, Pace(narrow=True), threads=512)
    return (plan,) * launches


def _foreach_functor(base: str) -> str:
    if base in ("addcmul", "addcdiv"):
        return "PointwiseOpScalarFunctor<float, 3, 3, 0>"
    if base in ("sqrt", "reciprocal", "neg"):
        return "UnaryOpFunctor<float, 1, 1, 0>"
    return "LpNormFunctor<float, 2>" if base == "norm" else "BinaryOpScalarFunctor<float, 1, 1, 0>"


def fused_plans(call: OperatorCall) -> Plans:
    """Plan a `_fused_` optimizer, whose lists stand one after another, the parameters first.

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
    kind, what = "FusedOptimizer" * has_steps, _fused_functor(base, lists, params[0].c_type)
    nbytes = total_nbytes(inputs) + total_nbytes(outputs)
    return multi_tensor_plans(kind, what, params, lists, nbytes, call.spec)


def _fused_functor(base: str, lists: int, kind: str) -> str:
    if base == "_fused_sgd":
        return f"FusedSgdMathFunctor<{kind}, {lists}>"
    if base == "_fused_adagrad":
        return f"FusedAdagradMathFunctor<{kind}>"
    mode = f"(at::native::(anonymous namespace)::ADAM_MODE){int(base == '_fused_adamw')}"
    amsgrad = "true" if lists > 4 else "false"
    return f"FusedAdamMathFunctor<{kind}, {lists}, {mode}, {amsgrad}>"
