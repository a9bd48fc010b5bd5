"""What kernels compute, by names that libraries give them."""

from __future__ import annotations

import pytest

from tidy.account import make_accounts
from tidy.account.work_kinds import (
    ATTENTION,
    COMMUNICATION,
    ELEMENTWISE,
    ORDINARY,
    OTHER,
    PRODUCTS,
    REDUCTION,
    TENSOR_CORES,
    kernel_kind,
)
from tidy.trace.outline import parse_outline


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_ffma", ORDINARY),
        ("sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nchw", ORDINARY),
        ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw", TENSOR_CORES),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", TENSOR_CORES),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", TENSOR_CORES),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>", ORDINARY),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>", TENSOR_CORES),
        ("nvjet_tst_128x64_64x8_2x1_v_bz_TNT", TENSOR_CORES),
        ("_ZN2ck16tensor_operation_kernel_grouped_conv_fwd_xdl_cshuffle_v3", TENSOR_CORES),
        ("volta_sgemm_128x64_nn", ORDINARY),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", COMMUNICATION),
        ("void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", COMMUNICATION),
        ("multimem_all_reduce_kernel<c10::BFloat16, 16>", COMMUNICATION),
        ("void flashinfer::norm::RMSNormKernel<8u, __half>(__half*, __half*)", REDUCTION),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<flashinfer::Params>", ATTENTION),
        ("void vllm::reshape_and_cache_flash_kernel<__half, __half>", ELEMENTWISE),
        ("void vllm::act_and_mul_kernel<c10::BFloat16>", ELEMENTWISE),
        ("_swiglu_forward_kernel", ELEMENTWISE),
        ("bwd_kernel_dk_dv", ATTENTION),
        ("void marlin::Marlin<__half, 256, 4>", TENSOR_CORES),
        ("_w8a8_block_fp8_matmul", TENSOR_CORES),
        ("void cutlass::device_kernel<GemmUniversal<MainloopSm90TmaGmmaWarp>>", TENSOR_CORES),
        ("void cutlass::device_kernel<CollectiveMma<cute::MMA_Atom<SM80_16x8>>>", TENSOR_CORES),
        ("void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float>", ELEMENTWISE),
        ("void foldedNhwcToNhwcKernel<float, float, float, true>", ELEMENTWISE),
        ("void nhwcToFoldedNhwcKernel<float, float, float, true>", ELEMENTWISE),
        ("void cudnn::ops::nhwcAddPaddingKernel<__half, __half, float, true>", ELEMENTWISE),
        ("matmul_kernel", PRODUCTS),
        ("void fbgemm_gpu::_FP8rowwise_to_float_cuda_kernel<float>", OTHER),
    ],
)
def test_the_kind_of_a_kernel(name: str, kind: str) -> None:
    assert kernel_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tem_fused_mm_0", PRODUCTS),
        ("tem_fused__unsafe_view_addmm_relu_1", PRODUCTS),
        ("tem_fused_convolution_2", PRODUCTS),
        ("tem_fused_flex_attention_0", ATTENTION),
        ("tem_fused_0", ATTENTION),
        ("mm", PRODUCTS),
        ("scaled_mm_device_tma_main_loop_scaling", PRODUCTS),
        ("convolution2d", PRODUCTS),
        ("flex_decoding", ATTENTION),
        ("poi_fused__scaled_dot_product_flash_attention_clone_2", ELEMENTWISE),
        ("poi_fused__softmax_convolution_backward_3", ELEMENTWISE),
        ("for_fused_0", ELEMENTWISE),
        ("red_fused_mm_sum_1", REDUCTION),
        ("per_fused__scaled_dot_product_efficient_attention_0", REDUCTION),
        ("spl_fused_cumsum_1", REDUCTION),
        ("unk_fused_add_0", OTHER),
        ("_0d1d2de", OTHER),
        ("comm_kernel", OTHER),
    ],
)
def test_the_kind_of_a_kernel_of_triton(name: str, kind: str) -> None:
    """By the sort that torch.compile names, before the operators that are fused in it."""
    assert kernel_kind(f"triton_{name}") == kind


@pytest.mark.parametrize(
    ("op", "cause"),
    [
        ("aten::mm", "matmul"),
        ("aten::_scaled_mm", "matmul"),
        ("aten::cudnn_convolution", "convolution"),
        ("aten::_efficient_attention_forward", "attention"),
        ("aten::mul", "other"),
    ],
)
def test_a_kernel_whose_name_tells_nothing_computes_what_its_operator_does(
    op: str, cause: str
) -> None:
    """On which cores it does is not known."""
    outline = f"{op}\n  cudaLaunchKernel\n    => some_kernel 2us\n" * 2
    (account,) = make_accounts(parse_outline("# device 0 NVIDIA A100 8.0\n" + outline))
    computes = [(each.cause, each.tensor_cores) for each in account.parts if each.part == "compute"]
    assert computes == [(cause, None)]


@pytest.mark.parametrize(
    "name",
    [
        "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)",
        "void split_embedding_codegen_forward_unweighted_kernel<float>(at::Tensor, fbgemm_gpu::X)",
        "SubTensorOpWithCastTensor1d",
        "SubTensorOpWithScalar1d",
    ],
)
def test_what_multiplies_nothing_is_no_product(name: str) -> None:
    assert kernel_kind(name) not in (ORDINARY, TENSOR_CORES)
