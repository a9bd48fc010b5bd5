"""What kernels compute, by names that libraries give them."""

from __future__ import annotations

import pytest

from tidy.account.work_kinds import COMMUNICATION, ORDINARY, TENSOR_CORES, kernel_kind


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
    ],
)
def test_the_kind_of_a_kernel(name: str, kind: str) -> None:
    assert kernel_kind(name) == kind


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
