"""What each operator makes a modelled device do, and how long that takes.

    plan("aten::mm", [Operand((64, 64), "float32"), ...], [Operand(...)], spec,
         matmul_tf32=False, cudnn_tf32=True)

gives the kernels, in order, each with its time. Time is what the slower of memory and cores takes:
see gemm.py, convolution.py, memory_bound.py, and docs/modelled-device.md for how near that
comes. Nothing here knows a Tensor, a stream or the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..specs.device_spec import DeviceSpec
from .convolution import convolution_backward_plans, convolution_plans
from .copies import all_reduce_ns, copy_ns, memset_ns
from .elementwise import copy_plan, elementwise_plan, fill_plan, foreach_plans, reduce_plans
from .fused import FUSED, fused_plans
from .gemm import Product, product_plans
from .kernel_names import named
from .kernel_plan import KernelPlan, Operand, nbytes_of, numel
from .memory_bound import MEMORY_EFFICIENCY, memory_plan
from .operator_kernels import COPIES, FILLS, INDICES, KERNELS, NOTHING, REDUCTIONS

__all__ = [
    "KernelPlan",
    "Operand",
    "all_reduce_ns",
    "copy_ns",
    "memset_ns",
    "occupancy",
    "plan",
]

Operands = Sequence[Operand]
Plans = tuple[KernelPlan, ...]


def plan(
    op: str,
    inputs: Operands,
    outputs: Operands,
    spec: DeviceSpec,
    *,
    matmul_tf32: bool,
    cudnn_tf32: bool,
) -> Plans:
    """The kernels of one operator, by its ATen name.

    `inputs` are the tensors among its arguments, lists of them in their place. An operator without
    a row of its own counts as elementwise. Nothing is launched for nothing: where the outputs have
    no elements, and for what only asks or allocates, there is no kernel.
    """
    base = op.rpartition("::")[2]
    in_place = base.endswith("_")
    base = base.rstrip("_")
    if base in NOTHING or not any(map(numel, outputs or inputs)):
        return ()
    call = _Call(base, in_place, inputs, outputs, spec, matmul_tf32, cudnn_tf32)
    if base.startswith("_foreach_"):
        return foreach_plans(base[len("_foreach_") :], in_place, inputs, outputs, spec)
    if base in FUSED:
        return fused_plans(base, inputs, outputs, spec)
    return _HANDLERS.get(base, _elementwise)(call)


def occupancy(found: KernelPlan, spec: DeviceSpec) -> tuple[float, float]:
    """What Kineto writes of a kernel: estimated achieved occupancy (0 to 1), and blocks per SM."""
    blocks_per_sm = math.prod(found.grid) / spec.sm_count
    threads = math.prod(found.block)
    held = min(
        spec.max_blocks_per_sm,
        spec.max_threads_per_sm // max(1, threads),
        spec.registers_per_sm // max(1, found.registers * threads),
    )
    if found.shared_nbytes:
        held = min(held, spec.shared_nbytes_per_sm // found.shared_nbytes)
    held = max(held, 1)
    warps = -(-threads // spec.warp_size)
    resident = min(blocks_per_sm, held) * warps
    return min(1.0, resident / (spec.max_threads_per_sm // spec.warp_size)), blocks_per_sm


class _Call(NamedTuple):
    base: str
    in_place: bool
    inputs: Operands
    outputs: Operands
    spec: DeviceSpec
    matmul_tf32: bool
    cudnn_tf32: bool

    @property
    def out(self) -> Operand:
        return (self.outputs or self.inputs)[0]


def _nbytes(operands: Operands) -> int:
    return sum(map(nbytes_of, operands))


def _elementwise(call: _Call) -> Plans:
    if not call.inputs:
        return _made(call)
    outputs = call.outputs or call.inputs[:1]
    return (elementwise_plan(call.base, call.inputs, outputs, call.spec),)


def _made(call: _Call) -> Plans:
    """Something is made of an element's place alone."""
    name = f"void (anonymous namespace)::elementwise_kernel_with_index<int, {call.base}_cuda_out>"
    return (memory_plan(name, _nbytes(call.outputs), call.spec, -(-numel(call.out) // 256)),)


def _filled(call: _Call) -> Plans:
    return (fill_plan(call.base, call.outputs or call.inputs, call.spec),)


def _copied(call: _Call) -> Plans:
    return (copy_plan(call.inputs, call.outputs or call.inputs[:1], call.spec),)


def _reduced(call: _Call) -> Plans:
    if not call.inputs or numel(call.inputs[0]) <= numel(call.out):
        return _elementwise(call)
    return reduce_plans(call.base, call.inputs, call.outputs, call.spec)


def _product(call: _Call) -> Plans:
    """Of the last two inputs; what stands before them is added."""
    if len(call.inputs) < 2:
        return _elementwise(call)
    a, b = call.inputs[-2:]
    layout = f"{'n' if b.contiguous else 't'}{'n' if a.contiguous else 't'}"
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    rows = a.shape[-2] if len(a.shape) > 1 else 1
    batch = a.shape[0] if len(a.shape) > 2 else 1
    product = Product(rows, columns, max(1, a.shape[-1]), batch)
    nbytes = _nbytes(call.inputs) + _nbytes(call.outputs)
    return product_plans(product, a.dtype, nbytes, layout, call.matmul_tf32, call.spec)


def _convolution(call: _Call) -> Plans:
    if len(call.inputs) < 2 or not call.outputs:
        return _elementwise(call)
    return convolution_plans(call.inputs, call.outputs, call.cudnn_tf32, call.spec)


def _convolution_backward(call: _Call) -> Plans:
    if len(call.inputs) < 2:
        return _elementwise(call)
    return convolution_backward_plans(call.inputs, call.outputs, call.cudnn_tf32, call.spec)


def _with_row(call: _Call) -> Plans:
    """By its row in operator_kernels.py."""
    known, spec, inputs = KERNELS[call.base], call.spec, call.inputs
    found: Plans = ()
    nbytes = _nbytes(inputs) + _nbytes(call.outputs)
    if known.moved == "output":
        nbytes = _nbytes(call.outputs or inputs[:1])
    elif known.moved == "picked":
        nbytes = _nbytes(inputs[1:]) + 2 * _nbytes(call.outputs)
    elif known.moved == "put":
        given = inputs[1:] or call.outputs or inputs
        nbytes = _nbytes(given) + 2 * max(map(nbytes_of, given))
        if not call.in_place and inputs:  # of a copy
            found = _copied(call._replace(base="clone", inputs=inputs[:1]))
    name = named(known.name, inputs[0] if inputs else call.out)
    last = memory_plan(
        name.replace("{log}", "true" if "log" in call.base else "false"),
        nbytes,
        spec,
        -(-numel(call.out) // 512),
        efficiency=MEMORY_EFFICIENCY * known.efficiency,
        flops=known.flops * numel(call.out),
        passes=known.passes,
        floors=known.floors,
        cached=known.efficiency > 0.5,
    )
    return (*found, last)


def _batch_norm(call: _Call) -> Plans:
    """One block a channel; the input is read for the moments, and again for the result."""
    x, back = max(call.inputs, key=numel), "backward" in call.base
    channels = x.shape[1] if len(x.shape) > 1 else 1
    forward = "bn_fw_tr_1C11_kernel_NCHW<{t}, float, 512, true, 1>"
    backward = "bn_bw_1C11_kernel_new<{t}, float, float2, 512, true, 1>"
    nbytes = _nbytes(call.inputs) + _nbytes(call.outputs)
    found = memory_plan(
        named(f"void cudnn::{backward if back else forward}", x),
        nbytes,
        call.spec,
        channels,
        threads=512,
        passes=1 + nbytes_of(x) * (2 if back else 1) / nbytes,
        efficiency=MEMORY_EFFICIENCY * 0.85,
        shared_nbytes=144,
        narrow=True,
    )
    return (found,)


def _loss(call: _Call) -> Plans:
    """Elementwise, then a reduction if there is one."""
    each = [max(call.inputs, key=numel)]
    first = elementwise_plan(call.base, call.inputs, each, call.spec)
    if numel(call.out) == numel(each[0]):
        return (first,)
    return (first, *reduce_plans("mean", each, call.outputs, call.spec))


def _nll_loss(call: _Call) -> Plans:
    """One block goes over the samples; the gradient is cleared first."""
    back = "backward" in call.base
    target = call.inputs[2 if back and len(call.inputs) > 2 else 1 if call.inputs[1:] else 0]
    which = "backward" if back else "forward"
    name = f"void at::native::(anonymous namespace)::nll_loss_{which}_reduce_cuda_kernel_2d"
    last = memory_plan(
        named(f"{name}<{{t}}, float, long>", call.inputs[0]),
        numel(target) * 48,  # a target, and a sector of memory for one element
        call.spec,
        1,
        threads=32,
        narrow=True,
        shared_nbytes=256,
    )
    return (*_filled(call._replace(base="zero")), last) if back else (last,)


_HANDLERS: dict[str, Callable[[_Call], Plans]] = {
    **dict.fromkeys(KERNELS, _with_row),
    **dict.fromkeys(REDUCTIONS, _reduced),
    **dict.fromkeys(FILLS, _filled),
    **dict.fromkeys(COPIES, _copied),
    **dict.fromkeys(INDICES, _made),
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm", "mv", "dot", "addmv"), _product),
    **dict.fromkeys(
        ("convolution", "cudnn_convolution", "_convolution", "conv1d", "conv2d"), _convolution
    ),
    **dict.fromkeys(
        (
            "convolution_backward",
            "convolution_backward_input",
            "convolution_backward_weight",
            "cudnn_convolution_backward",
            "cudnn_convolution_backward_input",
            "cudnn_convolution_backward_weight",
        ),
        _convolution_backward,
    ),
    **dict.fromkeys(
        (
            "native_batch_norm",
            "cudnn_batch_norm",
            "native_batch_norm_backward",
            "cudnn_batch_norm_backward",
        ),
        _batch_norm,
    ),
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), _loss),
    **dict.fromkeys(
        ("nll_loss", "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward"), _nll_loss
    ),
}
