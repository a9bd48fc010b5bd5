"""How cuBLAS and cuDNN call the kernels that multiply matrices, by architecture.

Patterns as they stand in public traces: `volta_sgemm_64x64_nt`, `ampere_fp16_s16816gemm_fp16_...`,
`sm80_xmma_gemm_f32f32_tf32f32_f32_...`, `nvjet_tst_...`. Which of many kernels a library takes is
its own secret; what is told here is the kind of core, the dtypes, the tile and the layout.
"""

from __future__ import annotations

from ..specs.device_spec import DeviceSpec

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
