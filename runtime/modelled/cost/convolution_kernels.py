"""What a convolution takes: a product of matrices whose operands are gathered on the way.

    forward          (N * out, C * kernel) x (C * kernel, K)
    for the input    (N * in, K * kernel)  x (K * kernel, C), less what a stride leaves out
    for the weight   (K, N * out)          x (N * out, C * kernel)

Three by three in float32 on ordinary cores goes by Winograd's transform, with fewer
multiplications. Tensor Cores want channels last, so tensors that have them first are turned, and
the result is turned back, unless that takes longer than to gather them as they lie. One channel a
group is no product at all. Source: cuDNN's documentation of its algorithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..specs import DeviceSpec
from .elementwise_kernels import elementwise_plans
from .gemm import Product, choose, path_of, tile_plans
from .kernel_names import convolution_name, transpose_name, winograd_name
from .kernel_plan import KernelPlan, Operand, OperatorCall, Plans, names_of
from .memory_bound import Pace, memory_plan, stream_ns

# What implicit products reach of explicit ones.
_IMPLICIT = 0.76
# Winograd's F(2x2, 3x3) needs 2.25 times fewer multiplications; its transforms eat part of that.
_WINOGRAD_GAIN = 2.0
_LEAST_WINOGRAD_CHANNELS = 32
# Elements that an SM turns in a cycle (of two and of four bytes on an H200).
_TURNED_A_CYCLE = 2.3
# What products reach of those others where channels stand first.
_AS_THEY_LIE = 0.5


class _Case(NamedTuple):
    """The tensors of a convolution, whichever of them is computed."""

    x: Operand
    weight: Operand
    out: Operand

    @property
    def groups(self) -> int:
        return max(1, self.x.shape[1] // max(1, self.weight.shape[1]))

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.out.shape) * math.prod(self.weight.shape[1:])


def convolution_plans(call: OperatorCall) -> Plans:
    """Forward: of (input, weight) or (input, weight, bias)."""
    inputs, outputs, spec = call.inputs, call.outputs, call.spec
    if len(inputs) < 2 or not outputs:
        return elementwise_plans(call)
    plans = _fastest(_Case(inputs[0], inputs[1], outputs[0]), "fprop", call.cudnn_tf32, spec)
    if len(inputs) > 2:  # the bias is added by a kernel of its own
        name = (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
            f"at::native::CUDAFunctor_add<{outputs[0].c_type}> > >"
        )
        nbytes, grid = 2 * outputs[0].nbytes, -(-outputs[0].numel // 256)
        plans += (memory_plan(name, nbytes, spec, grid, Pace(0.8)),)
    return plans


def convolution_backward_plans(call: OperatorCall) -> Plans:
    """Backward: of (grad, input, weight), or of (grad, weight) or (grad, input) for the other."""
    inputs, plans = call.inputs, Plans()
    if len(inputs) < 2:
        return elementwise_plans(call)
    grad = inputs[0]
    for out in call.outputs:
        if len(out.shape) < 3:
            continue
        if len(inputs) > 2:
            case = _Case(inputs[1], inputs[2], grad)
            direction = "dgrad" if out.shape == inputs[1].shape else "wgrad"
        elif _is_input(out, grad, inputs[1]):
            case, direction = _Case(out, inputs[1], grad), "dgrad"
        else:
            case, direction = _Case(inputs[1], out, grad), "wgrad"
        plans += _fastest(case, direction, call.cudnn_tf32, call.spec)
    return plans


def _is_input(out: Operand, grad: Operand, other: Operand) -> bool:
    """Whether a result goes with the input: then the other one is the weight."""
    as_input = out.shape[0] == grad.shape[0] and other.shape[0] == grad.shape[1]
    as_weight = out.shape[0] == grad.shape[1] and other.shape[0] == grad.shape[0]
    if as_input and as_weight:  # as many samples as channels: the weight is the smaller plane
        return math.prod(out.shape[2:]) >= math.prod(other.shape[2:])
    return as_input


def _padded(channels: int, dtype: str, tensor: bool) -> int:
    """Channels as Tensor Cores take them: multiples of 16 bytes."""
    wanted = max(1, 16 // names_of(dtype).nbytes) if tensor else 1
    return -(-channels // wanted) * wanted


def _fastest(case: _Case, direction: str, tf32: bool, spec: DeviceSpec) -> Plans:
    """With TF32 allowed an algorithm without it may still be faster, as cuDNN's heuristic knows."""
    plans = _plans(case, direction, tf32, spec)
    if tf32 and spec.has_tf32 and case.x.dtype == "float32":
        plans = min(plans, _plans(case, direction, False, spec), key=_total_ns)
    return plans


def _total_ns(plans: Plans) -> int:
    return sum(each.duration_ns for each in plans)


def _plans(case: _Case, direction: str, tf32: bool, spec: DeviceSpec) -> Plans:
    x, weight, out = case
    nbytes = x.nbytes + weight.nbytes + out.nbytes
    dtype, groups = x.dtype, case.groups
    if groups > 1 and weight.shape[1] == 1:
        return (_depthwise(case, direction, nbytes, spec),)
    path = path_of(dtype, tf32, spec)
    kernel, place = math.prod(weight.shape[2:]), math.prod(out.shape[2:])
    c = _padded(weight.shape[1], dtype, path.tensor)
    k = _padded(weight.shape[0] // groups, dtype, path.tensor)
    n, size = x.shape[0], math.prod(x.shape[2:])
    product = {
        "fprop": Product(n * place, k, c * kernel, groups),
        "dgrad": Product(n * size, c, max(1, k * kernel * place // max(size, 1)), groups),
        "wgrad": Product(k, c * kernel, n * place, groups),
    }[direction]
    memory = stream_ns(nbytes, spec)
    name, efficiency = "", _IMPLICIT
    if path.kind == "float32" and _by_winograd(case):
        name, efficiency = winograd_name(spec), _IMPLICIT * _WINOGRAD_GAIN

    def computed(efficiency: float) -> Plans:
        chosen = choose(product, path, memory, spec, efficiency)
        tile = (chosen.rows, chosen.columns)
        full = name or convolution_name(path.kind, path.tensor, direction, tile, spec)
        return tile_plans(full, product, chosen, dtype, nbytes, path, spec)

    plans = computed(efficiency)
    if not path.tensor or path.kind == "float64":
        return plans
    read, written = {
        "fprop": ((x, weight), out),
        "dgrad": ((out, weight), x),
        "wgrad": ((x, out), weight),
    }[direction]
    turned = (*(_turned(each, spec) for each in read), *plans, _turned(written, spec))
    return min(turned, computed(efficiency * _AS_THEY_LIE), key=_total_ns)


def _by_winograd(case: _Case) -> bool:
    """Three by three, moved by one, with enough channels."""
    x, weight, out = case
    least = min(weight.shape[:2])
    return (
        weight.shape[2:] == (3, 3)
        and case.groups == 1
        and least >= _LEAST_WINOGRAD_CHANNELS
        and out.shape[2] >= x.shape[2] - 2
    )


def _turned(each: Operand, spec: DeviceSpec) -> KernelPlan:
    name = transpose_name(each.c_type)
    nbytes, grid = 2 * each.nbytes, -(-each.numel // 1024)
    plan = memory_plan(name, nbytes, spec, grid, threads=256, shared_nbytes=4224)
    ns = each.numel / (_TURNED_A_CYCLE * spec.sm_count * spec.clock_hz) * 1e9
    return plan._replace(duration_ns=max(plan.duration_ns, spec.kernel_floor_ns + int(ns)))


def _depthwise(case: _Case, direction: str, nbytes: int, spec: DeviceSpec) -> KernelPlan:
    """Each channel by itself: memory, and few multiplications for what is read."""
    way = {"fprop": "forward", "dgrad": "backward", "wgrad": "grad_weight"}[direction]
    name = f"conv_depthwise2d_{way}_kernel<{case.weight.shape[-1]}, {case.x.c_type}, int>"
    full = f"void at::native::(anonymous namespace)::{name}"
    grid = -(-case.out.numel // 256)
    return memory_plan(full, nbytes, spec, grid, Pace(0.6, flops=case.flops), threads=256)
