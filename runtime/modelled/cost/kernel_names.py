"""How ATen, cuBLAS and cuDNN call their kernels, cut to what tells them apart.

Of products the pattern is that of the architecture: `volta_sgemm_64x64_nt`, `nvjet_tst_...`. Which
of many kernels a library takes is its own secret; what is told here is the kind of core, the
dtypes, the tile and the layout. Source: names in public traces of PyTorch 1.9 to 2.7.
"""

from __future__ import annotations

from ..specs import DeviceSpec
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


# From this compute capability on.
_FIRST = {"blackwell": (10, 0), "hopper": (9, 0), "ampere": (8, 0), "turing": (7, 5)}
_SM = {"volta": 70, "turing": 75, "ampere": 80, "hopper": 90, "blackwell": 100}
_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
_SHORT |= {"tf32": "tf32", "float8": "e4m3", "integer": "s32", "complex": "c32"}
_NVJET = {"float16": "hsh", "bfloat16": "tst", "float8": "qqtst"}
_CUDA_TYPES = {"float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"}
_CUBLAS = {"float16": "fp16", "bfloat16": "bf16"}
_CONVOLUTION = {
    "fprop": "implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1, false, true, true>"
    "(int, int, int, float const*, int, float*, float const*, kernel_conv_params)",
    "dgrad": "cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>"
    "(int, int, int, float const*, int, float const*, int, float*, kernel_grad_params)",
    "wgrad": "cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>"
    "(int, int, int, float const*, int, float*, float const*, kernel_grad_params)",
}


def architecture(spec: DeviceSpec) -> str:
    return next((name for name, first in _FIRST.items() if spec.compute >= first), "volta")


def gemm_name(kind: str, tensor: bool, tile: tuple[int, int], layout: str, spec: DeviceSpec) -> str:
    """Name a product. `kind` is the dtype that cores work with, `layout` cuBLAS' (nn, tn, ...)."""
    arch, size = architecture(spec), f"{tile[0]}x{tile[1]}"
    return (_tensor_name if tensor else _ordinary_name)(kind, size, layout, arch)


def _tensor_name(kind: str, size: str, layout: str, arch: str) -> str:
    modern = arch in ("hopper", "blackwell")
    if kind == "float64":
        first = "sm90" if modern else "sm80"
        return f"{first}_xmma_gemm_f64f64_f64f64_f64_{layout}_n_tilesize{size}x16"
    if kind == "tf32":
        rest = (
            f"{size}x16_stage4_warpsize2x2x1_ff2f32_tensor16x8x8_execute_kernel_cublas"
            if arch == "ampere"
            else f"{size}x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
        )
        return f"sm{_SM[arch]}_xmma_gemm_f32f32_tf32f32_f32_{layout}_n_tilesize{rest}"
    if modern or kind == "float8":
        family = "nvjet_sm100" if arch == "blackwell" else "nvjet"
        return f"{family}_{_NVJET[kind]}_{size}_64x4_1x2_h_bz_coopA_{layout.upper()}N"
    name = _CUBLAS[kind]
    if arch == "ampere":
        return f"ampere_{name}_s16816gemm_{name}_{size}_ldg8_f2f_stages_64x4_{layout}"
    instruction = "s1688" if arch == "turing" else "s884"
    return f"{arch}_{name}_{instruction}gemm_{name}_{size}_ldg8_f2f_{layout}"


def _ordinary_name(kind: str, size: str, layout: str, arch: str) -> str:
    if kind == "float32":
        if arch in ("hopper", "blackwell"):
            return (
                f"sm80_xmma_gemm_f32f32_f32f32_f32_{layout}_n_tilesize{size}x8_stage3_"
                "warpsize2x4x1_ffma_aligna4_alignc4_execute_kernel__51_cublas"
            )
        return f"{arch}_sgemm_{size}_{layout}"
    if kind in ("float64", "complex"):
        first = "volta" if arch == "turing" else arch
        return f"{first}_{'dgemm' if kind == 'float64' else 'cgemm'}_{size}_{layout}"
    if kind == "integer":
        return f"cutlass_{_SM[arch]}_i32gemm_{size}_{layout}"
    return f"sm{_SM[arch]}_xmma_gemm_{_SHORT[kind]}{_SHORT[kind]}_f32_{layout}_n_tilesize{size}x8"


def gemv_name(c_type: str) -> str:
    """Name a product with a vector, which no tile serves."""
    return (
        f"void gemv2T_kernel_val<int, int, {c_type}, {c_type}, {c_type}, float, 128, 16, 4, 4, "
        f"false, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<{c_type} const>>>"
    )


def splitk_name(c_type: str) -> str:
    """Name what adds up the parts, where K was split among blocks."""
    return f"void splitKreduce_kernel<32, 16, int, {c_type}, {c_type}, float, {c_type}, true>"


def convolution_name(
    kind: str, tensor: bool, direction: str, tile: tuple[int, int], spec: DeviceSpec
) -> str:
    """Name an implicit product; `direction` is fprop, dgrad or wgrad."""
    arch, size = architecture(spec), f"{tile[0]}x{tile[1]}"
    if not tensor:
        c_type = _CUDA_TYPES.get(kind, "float")
        return f"void {_CONVOLUTION[direction].replace('float', c_type)}"
    sm = f"sm{_SM[arch]}"
    if kind == "tf32":
        return (
            f"{sm}_xmma_{direction}_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_"
            f"tilesize{size}x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"
        )
    short = _SHORT[kind]
    if arch in ("volta", "turing"):
        shape = "s884" if arch == "volta" else "s1688"
        return f"{arch}_fp16_{shape}cudnn_fp16_{size}_ldg8_relu_f2f_{direction}_nhwc"
    return (
        f"{sm}_xmma_{direction}_implicit_gemm_{short}{short}_{short}f32_f32_nhwckrsc_nhwc_"
        f"tilesize{size}x32_stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"
    )


def winograd_name(spec: DeviceSpec) -> str:
    arch = architecture(spec)
    known = {"volta": "volta", "turing": "turing"}.get(arch, "ampere")
    return f"{known}_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"


def transpose_name(c_type: str) -> str:
    """Name what brings a tensor into the layout that Tensor Cores need."""
    return (
        f"void cudnn::ops::nchwToNhwcKernel<{c_type}, {c_type}, float, false, true, "
        "(cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>)"
    )
