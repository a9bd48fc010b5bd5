"""Operators that memory is the limit of and that are not elementwise: one row each.

    operators | what moves | passes, efficiency, floors, operations an element | kernel

What moves is "all" inputs and outputs; "output" alone; "picked": indices, and what they pick read
and written; "put": what is put into a place read, and the place read and written. `passes` is how
often it moves (a sort goes over its keys again and again), `efficiency` what part of a plain
stream's bandwidth such a kernel reaches, `floors` how often it waits, see memory_bound.py. In names
`{t}` is the C++ type of the first input, `{log}` whether it is the logarithm's, and `~` and `@`
stand for ATen's namespaces.
"""

from __future__ import annotations

from typing import NamedTuple

from .memory_bound import Pace


class Kernel(NamedTuple):
    """How an operator runs."""

    name: str
    moved: str
    pace: Pace  # its flops are those of an element


_ROWS = """
uniform normal normal_fill rand randn randint bernoulli exponential | output | 1 1 1 40
    | @distribution_elementwise_grid_stride_kernel<{t}, 4>
native_dropout | all | 1 1 1 40 | @fused_dropout_kernel_vec<{t}, float, unsigned int, 1, 4, bool>
multinomial | all | 2 0.5 2 0 | @sampleMultinomialOnce<{t}, float>
randperm | output | 6 0.6 4 0
    | void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<int, long>
sort argsort | all | 6 0.6 4 0
    | void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<{t}, long>
topk | all | 5 0.5 4 0 | ~sbtopk::gatherTopK<{t}, unsigned int, 2, false>
_softmax _safe_softmax _log_softmax | all | 1 1 1.6 0
    | void (anonymous namespace)::softmax_warp_forward<{t}, {t}, float, 10, {log}, false>
_softmax_backward_data _log_softmax_backward_data | all | 1 1 1.6 0
    | void (anonymous namespace)::softmax_warp_backward<{t}, {t}, float, 10, {log}, false>
native_layer_norm | all | 1 0.85 2 0 | @vectorized_layer_norm_kernel<{t}, float>
native_layer_norm_backward | all | 1 0.6 3 0
    | @layer_norm_grad_input_kernel_vectorized<{t}, float>
native_group_norm | all | 1.5 0.9 3 0 | ~RowwiseMomentsCUDAKernel<{t}>
native_group_norm_backward | all | 1.5 0.8 3 0
    | ~ComputeInternalGradientsCUDAKernel<{t}>
embedding index_select | picked | 1 0.28 2 0
    | @indexSelectLargeIndex<{t}, long, unsigned int, 2, 2, -2, true>
embedding_dense_backward | put | 1 0.3 3 0 | @embedding_backward_feature_kernel<{t}, float, long>
index | picked | 1 0.4 2 0
    | ~index_elementwise_kernel<128, 4, gpu_index_kernel<at::native::index_kernel_impl> >
gather take | picked | 1 0.5 2 0
    | ~_scatter_gather_elementwise_kernel<128, 8, at::native::cuda_scatter_gather_internal<false> >
scatter scatter_add | put | 1 0.4 2 0
    | ~_scatter_gather_elementwise_kernel<128, 8, at::native::cuda_scatter_gather_internal<true> >
index_put index_copy index_fill | put | 1 0.4 2 0
    | ~index_elementwise_kernel<128, 4, gpu_index_kernel<at::native::index_put_kernel_impl> >
index_add | put | 1 0.4 2 0 | @indexFuncLargeIndex<{t}, long, unsigned int, 2, 2, -2, true>
cumsum cumprod | all | 1 0.5 2 0
    | ~tensor_kernel_scan_innermost_dim<{t}, std::plus<{t}> >
cat stack | all | 1 0.6 1.5 0
    | @CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 4, 64>
repeat | all | 1 0.6 1 0 | ~elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>
constant_pad_nd | all | 1 0.6 1 0 | ~elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>
flip | all | 1 0.6 1 0 | ~elementwise_kernel<128, 4, at::native::flip_kernel_impl<{t}> >
roll | all | 1 0.6 1 0 | ~roll_cuda_kernel<{t}>
tril triu | all | 1 0.8 1 0 | ~triu_tril_kernel<{t}, int, true, 8, false>
nonzero masked_select | all | 2 0.6 4 0 | void at_cuda_detail::cub::DeviceSelectSweepKernel<{t}>
max_pool2d_with_indices | all | 1 0.5 1.5 0 | @max_pool_forward_nchw<{t}, int>
max_pool2d_with_indices_backward | all | 1 0.4 1.5 0 | @max_pool_backward_nchw<{t}, float>
avg_pool2d | all | 1 0.6 1.5 0 | ~avg_pool2d_out_cuda_frame<{t}, float, int>
avg_pool2d_backward | all | 1 0.5 1.5 0 | ~avg_pool2d_backward_out_cuda_frame<{t}, float, int>
fft_fft fft_ifft fft_rfft fft_irfft | all | 2 0.7 2 0 | void regular_fft<256u, EPT<16u>, {t}>
linalg_cholesky linalg_inv linalg_det linalg_slogdet linalg_solve | all | 4 0.05 20 0
    | void cusolver::getrf_kernel<{t}>
"""


def _read() -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for line in _ROWS.strip().replace("\n    |", " |").splitlines():
        names, moved, numbers, name = (part.strip() for part in line.split("|"))
        name = name.replace("@", "~(anonymous namespace)::", 1)
        name = name.replace("~", "void at::native::", 1)
        passes, efficiency, floors, flops = map(float, numbers.split())
        pace = Pace(efficiency, passes, floors, int(flops), cached=efficiency > 0.5)
        found.update(dict.fromkeys(names.split(), Kernel(name, moved, pace)))
    return found


KERNELS = _read()
REDUCTIONS = frozenset(
    "sum mean prod all any count_nonzero amax amin max min argmax argmin var std logsumexp "
    "linalg_vector_norm nansum median".split()
)
INDICES = frozenset({"arange", "linspace", "eye"})
FILLS = frozenset({"fill", "zero", "full", "ones", "zeros", "full_like", "ones_like", "zeros_like"})
COPIES = frozenset({"copy", "clone", "contiguous", "_to_copy", "detach_copy"})
# They answer the host, or make nothing: no kernel.
NOTHING = frozenset({"empty", "empty_like", "_local_scalar_dense", "item", "empty_strided"})
