"""The kernels of one operator, by its ATen name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..specs import DeviceSpec
from .convolution_kernels import convolution_backward_plans, convolution_plans
from .elementwise_kernels import (
    FUSED,
    copy_plans,
    elementwise_plans,
    fill_plans,
    foreach_plans,
    fused_plans,
    index_plans,
    reduce_plans,
)
from .gemm import Product, product_plans
from .kernel_names import named
from .kernel_plan import Operand, Operands, OperatorCall, Plans, total_nbytes
from .memory_bound import Pace, memory_plan
from .operator_kernels import COPIES, FILLS, INDICES, KERNELS, NOTHING, REDUCTIONS


def plan(
    op: str,
    inputs: Operands,
    outputs: Operands,
    spec: DeviceSpec,
    *,
    matmul_tf32: bool,
    cudnn_tf32: bool,
) -> Plans:
    """Return the kernels of one operator, by its ATen name.

    An operator without a row of its own counts as elementwise. There is no kernel where the outputs
    have no elements, and for an operator that only asks or allocates.

    Args:
        inputs: the tensors among its arguments, those of lists in the place of the list.
        matmul_tf32: whether products of float32 may use TF32; `cudnn_tf32` says it of convolutions.
    """
    base = op.rpartition("::")[2]
    in_place = base.endswith("_")
    base = base.rstrip("_")
    if base in NOTHING or not any(x.numel for x in outputs or inputs):
        return ()
    call = OperatorCall(base, in_place, inputs, outputs, spec, matmul_tf32, cudnn_tf32)
    if base.startswith("_foreach_"):
        return foreach_plans(call)
    return _HANDLERS.get(base, elementwise_plans)(call)


def _largest(operands: Operands) -> Operand:
    return max(operands, key=lambda x: x.numel)


def _reduced(call: OperatorCall) -> Plans:
    if not call.inputs or call.inputs[0].numel <= call.out.numel:
        return elementwise_plans(call)
    return reduce_plans(call)


def _product(call: OperatorCall) -> Plans:
    """The product of the last two inputs; an input before them is added to it."""
    if len(call.inputs) < 2:
        return elementwise_plans(call)
    a, b = call.inputs[-2:]
    layout = f"{'n' if b.contiguous else 't'}{'n' if a.contiguous else 't'}"
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    rows = a.shape[-2] if len(a.shape) > 1 else 1
    batch = a.shape[0] if len(a.shape) > 2 else 1
    product = Product(rows, columns, max(1, a.shape[-1]), batch)
    return product_plans(product, a.dtype, call.nbytes, layout, call.matmul_tf32, call.spec)


def _with_row(call: OperatorCall) -> Plans:
    """The kernel of an operator that has a row in operator_kernels.py."""
    row, spec, inputs = KERNELS[call.base], call.spec, call.inputs
    before: Plans = ()
    nbytes = call.nbytes
    if row.moved == "output":
        nbytes = total_nbytes(call.outputs or inputs[:1])
    elif row.moved == "picked":
        nbytes = total_nbytes(inputs[1:]) + 2 * total_nbytes(call.outputs)
    elif row.moved == "put":
        given = inputs[1:] or call.outputs or inputs
        nbytes = total_nbytes(given) + 2 * max(x.nbytes for x in given)
        if not call.in_place and inputs:  # the operator writes to a copy
            before = copy_plans(call._replace(base="clone", inputs=inputs[:1]))
    name = named(row.name, inputs[0] if inputs else call.out)
    name = name.replace("{log}", "true" if "log" in call.base else "false")
    pace = row.pace._replace(flops=row.pace.flops * call.out.numel)
    return (*before, memory_plan(name, nbytes, spec, -(-call.out.numel // 512), pace))


def _batch_norm(call: OperatorCall) -> Plans:
    """One block a channel; the input is read for the moments, and again for the result."""
    x, back = _largest(call.inputs), "backward" in call.base
    channels = x.shape[1] if len(x.shape) > 1 else 1
    forward = "bn_fw_tr_1C11_kernel_NCHW<{t}, float, 512, true, 1>"
    backward = "bn_bw_1C11_kernel_new<{t}, float, float2, 512, true, 1>"
    name = named(f"void cudnn::{backward if back else forward}", x)
    pace = Pace(0.85, 1 + x.nbytes * (2 if back else 1) / call.nbytes, narrow=True)
    spec = call.spec
    plan = memory_plan(name, call.nbytes, spec, channels, pace, 512, 144)
    turns = max(1.0, channels / (spec.sm_count * _NORM_BLOCKS_AN_SM))
    cycles = turns * x.numel / max(channels, 1) / _NORM_ELEMENTS_A_CYCLE[back]
    ns = spec.kernel_floor_ns + int(cycles / spec.clock_hz * 1e9)
    return (plan._replace(duration_ns=max(plan.duration_ns, ns)),)


def _loss(call: OperatorCall) -> Plans:
    """An elementwise kernel, then a reduction if the operator has one."""
    each = _largest(call.inputs)
    first = elementwise_plans(call._replace(outputs=[each]))
    if call.out.numel == each.numel:
        return first
    return (*first, *reduce_plans(call._replace(base="mean", inputs=[each])))


def _nll_loss(call: OperatorCall) -> Plans:
    """One block goes over the samples; the gradient is cleared first."""
    back = "backward" in call.base
    target = call.inputs[2 if back and len(call.inputs) > 2 else 1 if call.inputs[1:] else 0]
    which = "backward" if back else "forward"
    name = f"void at::native::(anonymous namespace)::nll_loss_{which}_reduce_cuda_kernel_2d"
    name = named(f"{name}<{{t}}, float, long>", call.inputs[0])
    nbytes = target.numel * 48  # a target, and a sector of memory for one element
    last = memory_plan(name, nbytes, call.spec, 1, Pace(narrow=True), 32, 256)
    return (*fill_plans(call._replace(base="zero")), last) if back else (last,)


# Elements that a block of a batch norm, which has a channel, goes over in a cycle: forward and
# backward of a ResNet-18 and of a small network on an H200, float32 and half alike.
_NORM_ELEMENTS_A_CYCLE = {False: 0.85, True: 0.37}
_NORM_BLOCKS_AN_SM = 2
_WAYS, _OF, _BY = ("", "_backward"), ("", "cudnn_"), ("", "_input", "_weight")
_KINDS: list[tuple[Callable[[OperatorCall], Plans], Sequence[str] | frozenset[str]]] = [
    (fused_plans, FUSED),
    (_with_row, [*KERNELS]),
    (_reduced, REDUCTIONS),
    (fill_plans, FILLS),
    (copy_plans, COPIES),
    (index_plans, INDICES),
    (_product, "mm addmm bmm baddbmm mv dot addmv".split()),
    (convolution_plans, "convolution cudnn_convolution _convolution conv1d conv2d".split()),
    (convolution_backward_plans, [f"{of}convolution_backward{by}" for of in _OF for by in _BY]),
    (_batch_norm, [f"{of}_batch_norm{way}" for of in ("native", "cudnn") for way in _WAYS]),
    (_loss, "mse_loss l1_loss smooth_l1_loss huber_loss".split()),
    (_nll_loss, "nll_loss nll_loss_forward nll_loss_backward nll_loss2d_forward".split()),
]
_HANDLERS = {name: handler for handler, names in _KINDS for name in names}
