"""What a kernel or an operator computes, by its name.

Names are those of cuBLAS and cuDNN (volta_sgemm, sm80_xmma, nvjet), CUTLASS, PyTorch's own kernels,
Triton as torch.compile writes them (triton_poi, triton_red, triton_tem), FlashAttention, rocBLAS
(Cijk), MIOpen (igemm), NCCL and RCCL, vLLM's, FlashInfer's and Liger's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .first_fitting import FirstFitting

TENSOR_CORES = "products on Tensor Cores"
ORDINARY = "products on ordinary cores"
PRODUCTS, CONVOLUTIONS = "matrix products", "convolutions"  # on which cores is not known
ATTENTION = "attention"
REDUCTION = "normalisation and reductions"
ELEMENTWISE = "elementwise"
OPTIMIZER = "optimizer"
OTHER = "other work"
COMMUNICATION = "communication"

# The first that fits decides.
_KINDS = tuple(
    (kind, pattern.lower())
    for kind, pattern in (
        # torch.compile's say of what sort they are, then which operators are fused in them: of
        # those of flex attention older versions name none.
        (REDUCTION, r"^triton_(red|per|spl)_"),
        (ELEMENTWISE, r"^triton_(poi|for)_"),
        (ATTENTION, r"^triton_tem_fused(_\d+|)$|^triton_tem_.*attention|^triton_flex_"),
        (PRODUCTS, r"^triton_(tem|convolution|depthwise|b2b_gemm|blackwell)"
         r"|^triton_(\w+_|)b?mm(_|$)"),
        (COMMUNICATION, r"^(void )?(nccl\w*Kernel|rccl|msccl|hccl)|AllReduce|all_gather_kernel"
         r"|all_reduce_kernel|multimem_|cross_device_reduce|all_to_all_kernel"),
        (ELEMENTWISE, r"and_cache_flash"),
        (ATTENTION, r"flash|fmha|attn_(fwd|bwd)|attention(?!.*soft_?max_warp)|mha_|mem_eff|sdpa"
         r"|(prefill|decode)with\w*kvcache|^_?bwd_(kernel_d|preprocess)|^_fwd_kernel_aligned"),
        (OPTIMIZER, r"(adam\w*|sgd|lamb|adagrad|rmsprop|lion|adafactor)(math)?(functor|kernel)"
         r"|fused_?(adam|sgd|adagrad|lamb)|distributed_adam"),
        # Those of sums and factors in float32 are named like the kernels of Tensor Cores.
        (ORDINARY, r"_f32f32_f32f32|^(?!.*tf32).*gemm_f32f32_f32_"),
        (TENSOR_CORES, r"(?<!sub)tensorop|tf32|[hsi]\d*(884|1688|16816|161616|8816|16832)\w*(gemm"
         r"|cudnn|conv)"
         r"|(884|1688|16816|161616)gemm|hmma|imma|gmma|mma_atom|nvjet|xmma_\w*(bf16|f16|e4m3|int8)"
         r"|sm(80|86|89|90|100|120)_xmma|Cijk_\w*_MI\d+x|igemm_\w*gtcx|mfma|xdl|gemm_bf16|hgemm"
         r"|(884|1688|16816)fprop|(884|1688|16816)[dw]grad|turing_h|deep_gemm"
         r"|fp8_(gemm|matmul)|marlin"),
        (ORDINARY, r"gemm|gemv|gemvx|gemmk1|splitK|cutlass|Cijk_|scudnn|convolve|fprop|dgrad|wgrad"
         r"|winograd|conv(?!ert)\w*(2d|3d|depthwise|engine|fwd|bwd)|depthwise|naive_conv|dot_kernel"
         r"|fft\w*(r2c|c2r)|flip_filter"),
        (PRODUCTS, r"matmul|fused_moe_kernel"),
        (REDUCTION, r"batch_?norm|bn_(fw|bw)|layer_?norm|group_?norm|rms_?norm|instance_?norm"
         r"|welford"
         r"|soft_?max|reduce|kernel_scan|norm_(fwd|bwd)|moments|lpnorm|nll(_loss|criterion)"
         r"|cross_entropy"
         r"|cub::Device(Reduce|Scan|SegmentedReduce)|GammaBeta|ComputeInternalGradients"
         r"|compute_(grad_)?(weight|bias)|arg(max|min)|max_pool|avg_pool|adaptive_.*pool|cumsum"
         r"|MIOpenBatchNorm|logsumexp"),
        (ELEMENTWISE, r"elementwise|CatArray|cat_?kernel|copy|transpose|permute|pointwise"
         r"|(nchw|nhwc)to\w*(nchw|nhwc)|addpadding|dropout|masked|where|fill|index|gather|scatter|multi_tensor_apply"
         r"|distribution|triu_tril|im2col|col2im|upsample|pad\w*(1d|2d|3d)|scalePacked|AddTensor"
         r"|op_tensor|SubTensorOp|rotary|(ge|si|re)lu|(swi|ge)glu|rope|convert"
         r"|cast|quantize|arange|act_and_mul|elemwise"),
    )
)  # fmt: skip


_FIRST = FirstFitting([pattern for _, pattern in _KINDS])


def kernel_kinds(names: Iterable[str]) -> list[str]:
    """Return the kind of each kernel by its name."""
    # FBGEMM has embeddings beside its products, and FlashInfer norms beside its attention.
    lower = [name.lower().replace("fbgemm_gpu", "").replace("flashinfer", "") for name in names]
    kinds = [*(kind for kind, _ in _KINDS), OTHER]
    return [kinds[rank] for rank in _FIRST.find(lower)]


def kernel_kind(name: str) -> str:
    """Return the kind of one kernel by its name."""
    return kernel_kinds([name])[0]


# Of products those that are a convolution's, by the name of the kernel or of the operator.
_CONVOLVES = FirstFitting(
    [
        r"conv(?!ert)|fprop|[dw]grad|scudnn|winograd|igemm_|implicit_gemm|depthwise"
        r"|fft\w*(r2c|c2r)|flip_filter|cudnn::gemm"
    ]
)


def convolve(names: Iterable[str]) -> list[bool]:
    """Tell for each kernel or operator that is a product whether it is one of a convolution."""
    return [rank == 0 for rank in _CONVOLVES.find([name.lower() for name in names])]


# The same of operators that compute on the CPU; the first that fits decides.
MEMORY = "views, copies and new tensors"
_OP_KINDS = tuple(
    (kind, re.compile(rf"(aten|mkldnn|quantized|torch\w*)::_?({pattern})"))
    for kind, pattern in (
        (ATTENTION, r"(scaled_dot_product|flash_attention|efficient_attention"
         r"|native_multi_head)\w*"),
        (CONVOLUTIONS, r"(thnn_|slow_|mkldnn_\w*|cudnn_|miopen_)?conv(?!ert)\w*|nnpack_\w+"),
        (PRODUCTS, r"(addmm|\w*_mm|mm|bmm|baddbmm|addbmm|addmv|mv|dot|matmul|linear|bilinear|einsum"
         r"|\w*lstm\w*|\w*gru\w*)\w*"),
        (OPTIMIZER, r"(foreach|fused)_\w+"),
        (REDUCTION, r"(\w*norm\w*|\w*softmax\w*|sum|mean|var\w*|std\w*|amax|amin|max|min"
         r"|arg\w+|prod"
         r"|cum\w+|\w*pool\w*|nll_loss\w*|cross_entropy\w*|logsumexp|any|all|topk|sort)(_\w*)?"),
        (MEMORY, r"(view|reshape|t|transpose|permute|expand|slice|select|narrow|split\w*|chunk"
         r"|unbind"
         r"|squeeze|unsqueeze|as_strided|alias|detach|empty\w*|zeros\w*|ones\w*|full\w*|to|to_copy"
         r"|copy_|clone|contiguous|cat|stack|resize_|fill_|zero_|index\w*|gather|scatter\w*"
         r"|item|local_scalar_dense|lift_fresh|pin_memory|set_|random_|randperm|arange"
         r"|embedding\w*)_?"),
        (ELEMENTWISE, r"\w+"),
    )
)  # fmt: skip
OP_KINDS = (
    PRODUCTS,
    CONVOLUTIONS,
    ATTENTION,
    REDUCTION,
    ELEMENTWISE,
    MEMORY,
    OPTIMIZER,
    OTHER,
)


def op_kind(name: str) -> str:
    """Return the kind of an operator by its name."""
    return next((kind for kind, pattern in _OP_KINDS if pattern.fullmatch(name)), OTHER)
