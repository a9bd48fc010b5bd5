"""What each operator makes a modelled device do, and how long that takes.

    plan("aten::mm", [Operand((64, 64), "float32"), ...], [Operand(...)], spec,
         matmul_tf32=False, cudnn_tf32=True)

gives the kernels, in order, each with its time. Time is what the slower of memory and cores takes:
see gemm.py, convolution_cost.py, memory_bound.py, and docs/modelled-device.md for how near that
comes. Nothing here knows a Tensor, a stream or the host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .convolution_cost import convolution_backward_plans, convolution_plans
from .device_spec import DeviceSpec
from .elementwise_cost import copy_plan, elementwise_plan, fill_plan, foreach_plans, reduce_plans
from .gemm import Product, product_plans
from .kernel_names import named
from .kernel_plan import KernelPlan, Operand, nbytes_of, numel
from .memory_bound import MEMORY_EFFICIENCY, memory_plan
from .operator_kernels import COPIES, FILLS, INDICES, KERNELS, NOTHING, REDUCTIONS, Kernel
from .transfers import all_reduce_ns, copy_ns, memset_ns

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
_PRODUCTS = frozenset({"mm", "addmm", "bmm", "baddbmm", "mv", "dot", "addmv", "_addmm_activation"})
_CONVOLUTIONS = frozenset({"convolution", "cudnn_convolution", "_convolution", "conv1d", "conv2d"})
_BATCH_NORMS = frozenset({"native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit"})


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
    a row of its own counts as elementwise. Nothing is launched for nothing: where no input and
    output has elements, and for what only asks or allocates, there is no kernel.
    """
    base = op.rpartition("::")[2]
    if base.startswith("_foreach_"):
        base = base[len("_foreach_") :].rstrip("_")
        return foreach_plans(base, inputs, outputs, spec) if inputs else ()
    in_place = base.endswith("_")
    base = base.rstrip("_")
    if base in NOTHING or not any(map(numel, outputs or inputs)):
        return ()
    if base in _PRODUCTS:
        return _product(inputs, outputs, matmul_tf32, spec)
    if base in _CONVOLUTIONS:
        return convolution_plans(inputs, outputs, cudnn_tf32, spec)
    if base.startswith(("convolution_backward", "cudnn_convolution_backward")):
        return convolution_backward_plans(inputs, outputs, cudnn_tf32, spec)
    if base.startswith(("native_batch_norm_backward", "cudnn_batch_norm_backward")):
        return _batch_norm(inputs, outputs, spec, True)
    if base in _BATCH_NORMS:
        return _batch_norm(inputs, outputs, spec, False)
    if base.startswith("nll_loss"):
        return _nll_loss(base, inputs, outputs, spec)
    if base in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        each = [max(inputs, key=numel)]
        first = elementwise_plan(base, inputs, each, spec)
        whole = numel(outputs[0]) == numel(each[0])
        return (first,) if whole else (first, *reduce_plans("mean", each, outputs, spec))
    known = KERNELS.get(base)
    if known is not None:
        return _known(known, base, in_place, inputs, outputs, spec)
    if base in REDUCTIONS and inputs and numel(inputs[0]) > numel(outputs[0]):
        return reduce_plans(base, inputs, outputs, spec)
    if base in FILLS:
        return (fill_plan(base, outputs or inputs, spec),)
    if base in INDICES or not inputs:
        name = f"void (anonymous namespace)::elementwise_kernel_with_index<int, {base}_cuda_out>"
        return (memory_plan(name, _nbytes(outputs), spec, -(-numel(outputs[0]) // 256)),)
    if base in COPIES and outputs:
        return (copy_plan(inputs, outputs, spec),)
    return (elementwise_plan(base, inputs, outputs or inputs[:1], spec),)


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


def _nbytes(operands: Operands) -> int:
    return sum(map(nbytes_of, operands))


def _product(inputs: Operands, outputs: Operands, tf32: bool, spec: DeviceSpec) -> Plans:
    """Of the last two inputs; what stands before them is added."""
    a, b = inputs[-2:]
    layout = f"{'n' if b.contiguous else 't'}{'n' if a.contiguous else 't'}"
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    rows = a.shape[-2] if len(a.shape) > 1 else 1
    batch = a.shape[0] if len(a.shape) > 2 else 1
    product = Product(rows, columns, max(1, a.shape[-1]), batch)
    nbytes = _nbytes(inputs) + _nbytes(outputs)
    return product_plans(product, a.dtype, nbytes, layout, tf32, spec)


def _known(
    known: Kernel, base: str, in_place: bool, inputs: Operands, outputs: Operands, spec: DeviceSpec
) -> Plans:
    out = outputs[0] if outputs else inputs[0]
    nbytes, found = _nbytes(inputs) + _nbytes(outputs), ()
    if known.moved == "output":
        nbytes = _nbytes(outputs or inputs[:1])
    elif known.moved == "picked":
        nbytes = _nbytes(inputs[1:]) + 2 * _nbytes(outputs)
    elif known.moved == "put":
        given = inputs[1:] or outputs
        nbytes = _nbytes(given) + 2 * max(map(nbytes_of, given))
        if not in_place:  # of a copy
            found = (copy_plan(inputs[:1] or outputs, outputs, spec),)
    name = named(known.name, inputs[0] if inputs else out)
    name = name.replace("{log}", "true" if "log" in base else "false")
    last = memory_plan(
        name,
        nbytes,
        spec,
        -(-numel(out) // 512),
        efficiency=MEMORY_EFFICIENCY * known.efficiency,
        flops=known.flops * numel(out),
        passes=known.passes,
        narrow=known.narrow,
    )
    return (*found, last)


def _batch_norm(inputs: Operands, outputs: Operands, spec: DeviceSpec, back: bool) -> Plans:
    """One block a channel; the input is read for the moments, and again for the result."""
    x = max(inputs, key=numel)
    channels = x.shape[1] if len(x.shape) > 1 else 1
    name = "bn_bw_1C11_kernel_new<{t}, float, float2, 512, true, 1>" if back else (
        "bn_fw_tr_1C11_kernel_NCHW<{t}, float, 512, true, 1>"
    )  # fmt: skip
    nbytes, again = _nbytes(inputs) + _nbytes(outputs), nbytes_of(x) * (2 if back else 1)
    found = memory_plan(
        named(f"void cudnn::{name}", x),
        nbytes,
        spec,
        channels,
        threads=512,
        passes=(nbytes + again) / nbytes,
        efficiency=MEMORY_EFFICIENCY * 0.85,
        shared_nbytes=144,
        narrow=True,
    )
    return (found,)


def _nll_loss(base: str, inputs: Operands, outputs: Operands, spec: DeviceSpec) -> Plans:
    """One block goes over the samples; the gradient is cleared first."""
    t = named("{t}", inputs[0])
    samples = numel(inputs[2 if "backward" in base and len(inputs) > 2 else -1])
    reduce = f"void at::native::(anonymous namespace)::nll_loss_{{}}_reduce_cuda_kernel_2d<{t}, float, long>"
    which = "backward" if "backward" in base else "forward"
    nbytes = samples * 48  # a target, and a sector of memory for one element
    last = memory_plan(
        reduce.format(which), nbytes, spec, 1, threads=32, narrow=True, shared_nbytes=256
    )
    return (fill_plan("zero", outputs, spec), last) if "backward" in base else (last,)
