"""How ATen calls its kernels: the templates that profilers show, cut to what tells them apart.

Source: names in public traces of PyTorch 1.9 to 2.7.
"""

from __future__ import annotations

from .kernel_plan import Operand, names_of

_ALONE = "(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#1}"
_BINARY = {
    name: f"{name.title().replace('_', '')}Functor"
    for name in "mul div maximum minimum bitwise_and bitwise_or bitwise_xor".split()
}
_COMPARED = {"eq", "ne", "lt", "le", "gt", "ge"}
_CALLED = {
    "gelu": "GeluCUDAKernelImpl",
    "gelu_backward": "GeluBackwardCUDAKernelImpl",
    "relu": "launch_clamp_scalar",
    "clamp": "launch_clamp_scalar",
    "threshold_backward": "threshold_kernel_impl<{t}>",
    "silu": "silu_kernel",
    "pow": "pow_tensor_scalar_kernel_impl<{t}, {t}>",
    "copy": "direct_copy_kernel_cuda",
    "where": "where_kernel_impl",
    "masked_fill": "masked_fill_kernel",
    "addcmul": "addcmul_cuda_kernel",
    "addcdiv": "addcdiv_cuda_kernel",
    "lerp": "lerp_scalar_kernel",
    "mse_loss": "mse_kernel_cuda",
}


def functor(base: str, dtype: str, operands: int) -> str:
    """Return what an elementwise kernel is a template of; `base` is the operator's bare name."""
    t = names_of(dtype).c_type
    if base in ("add", "sub"):
        return f"at::native::CUDAFunctor{'OnSelf' if operands == 1 else ''}_add<{t}>"
    if base in _BINARY:
        inner = f"at::native::binary_internal::{_BINARY[base]}<{t}> "
        if operands == 1:
            return f"at::native::AUnaryFunctor<{t}, {t}, {t}, {inner}>"
        return f"at::native::BinaryFunctor<{t}, {t}, {t}, {inner}>"
    if base in _COMPARED:
        kind = "CompareEqFunctor" if base in ("eq", "ne") else "CompareFunctor"
        return f"at::native::BinaryFunctor<{t}, {t}, bool, at::native::{kind}<{t}> >"
    if base in ("fill", "zero", "full", "ones", "zeros"):
        return f"at::native::FillFunctor<{t}>"
    called = _CALLED.get(base, f"{base}_kernel_cuda").format(t=t)
    return f"at::native::{called}{_ALONE}"


def elementwise_name(base: str, dtype: str, tensors: int, simple: bool, operands: int) -> str:
    """Name a kernel over `tensors` tensors, `operands` of them read.

    `simple` says that all are of one shape and dtype, and in order: then it is vectorized.
    """
    what, array = functor(base, dtype, operands), f"std::array<char*, {tensors}ul>"
    if simple:
        return (
            f"void at::native::vectorized_elementwise_kernel<4, {what}, {array} >"
            f"(int, {what}, {array})"
        )
    wide = 2 if dtype in ("float32", "float64", "int64", "int32") else 4
    return (
        f"void at::native::elementwise_kernel<128, {wide}, at::native::gpu_kernel_impl_nocast<"
        f"{what} >(at::TensorIteratorBase&, {what} const&)::{{lambda(int)#1}}>"
        f"(int, at::native::gpu_kernel_impl_nocast<{what} >)"
    )


def unrolled_copy_name() -> str:
    """Name a copy that changes the dtype."""
    what = f"at::native::direct_copy_kernel_cuda{_ALONE}"
    return (
        f"void at::native::unrolled_elementwise_kernel<{what}, std::array<char*, 2ul>, 4, "
        "TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "
        "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >"
    )


_OPERATIONS = {
    "sum": "func_wrapper_t<{t}, at::native::sum_functor<{t}, {t}, {t}>",
    "mean": "MeanOps<{t}, {t}, {t}, {t}>",
    "max": "func_wrapper_t<{t}, at::native::MaxNanFunctor<{t}> >",
    "amax": "func_wrapper_t<{t}, at::native::MaxNanFunctor<{t}> >",
    "min": "func_wrapper_t<{t}, at::native::MinNanFunctor<{t}> >",
    "amin": "func_wrapper_t<{t}, at::native::MinNanFunctor<{t}> >",
    "argmax": "ArgMaxOps<{t}>",
    "argmin": "ArgMinOps<{t}>",
    "var": "WelfordOps<{t}, {t}, int, thrust::pair<{t}, {t}> >",
    "std": "WelfordOps<{t}, {t}, int, thrust::pair<{t}, {t}> >",
    "linalg_vector_norm": "NormTwoOps<{t}, {t}, {t}>",
    "all": "func_wrapper_t<bool, at::native::and_kernel_cuda(at::TensorIterator&)>",
    "any": "func_wrapper_t<bool, at::native::or_kernel_cuda(at::TensorIterator&)>",
    "prod": "func_wrapper_t<{t}, at::native::mul_functor<{t}, {t}, {t}>",
}


def reduce_name(base: str, dtype: str, inner: bool) -> str:
    """Name a reduction, of rows (`inner`) or of columns."""
    t = names_of(dtype).c_type
    what = _OPERATIONS.get(base, "func_wrapper_t<{t}, at::native::" + base + "_functor<{t}> >")
    shape = "512, 1" if inner else "128, 4"
    return (
        f"void at::native::reduce_kernel<{shape}, at::native::ReduceOp<{t}, at::native::"
        f"{what.format(t=t)}, unsigned int, {t}, 4> >"
    )


def named(template: str, operand: Operand) -> str:
    """Return a name with `{t}` for the C++ type."""
    return template.replace("{t}", operand.c_type)
