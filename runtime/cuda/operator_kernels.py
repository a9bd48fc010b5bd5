"""Operators that memory is the limit of and that are not elementwise: one row each.

`read` and `written` say what goes through memory: of the inputs, of the outputs, by a word of
`_WEIGHTS`; `passes` how often it goes (a sort goes over its keys again and again); `efficiency`
what part of a plain stream's bandwidth such a kernel reaches.
"""

from __future__ import annotations

from typing import NamedTuple


class Kernel(NamedTuple):
    """How an operator runs. `{t}` in a name is the C++ type of its first input.

    `moved`: "all" inputs and outputs; "output": only those; "picked": indices, and what they pick
    read and written; "put": what is put in a place read, and the place read and written.
    """

    name: str
    moved: str = "all"
    passes: float = 1.0
    efficiency: float = 1.0
    flops: int = 0  # of an element
    narrow: bool = False


_ANON = "void at::native::(anonymous namespace)::"
_RANDOM = Kernel(
    f"{_ANON}distribution_elementwise_grid_stride_kernel<{{t}}, 4>", "output", flops=40
)
_PUT = Kernel(
    f"{_ANON}index_elementwise_kernel<128, 4, at::native::index_put_kernel_impl>",
    "put",
    efficiency=0.5,
)
_ADDED = Kernel(f"{_ANON}indexFuncLargeIndex<{{t}}, long, unsigned int, 2, 2, -2>", "put", 1, 0.5)
_SCATTERED = Kernel(
    f"{_ANON}_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal>",
    "put",
    efficiency=0.5,
)
_PICKED = Kernel(f"{_ANON}vectorized_gather_kernel<16, long>", "picked", efficiency=0.8)
_SCAN = Kernel(
    "void at::native::tensor_kernel_scan_innermost_dim<{t}, std::plus<{t}> >", "all", 1, 0.5
)
_SORT = Kernel("void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<{t}, long>", "all", 6, 0.6)
_SOFT = Kernel(
    "void (anonymous namespace)::softmax_warp_forward<{t}, {t}, float, 10, {log}, false>"
)
_SOFT_BACK = Kernel("void (anonymous namespace)::softmax_warp_backward<{t}, {t}, float, 10, {log}>")
_FFT = Kernel("void regular_fft<256u, EPT<16u>, {t}>", "all", 2, 0.7)
_PAD = Kernel(f"{_ANON}constant_pad_kernel<{{t}}>", efficiency=0.7)
_SHIFTED = Kernel(f"{_ANON}roll_cuda_kernel<{{t}}>", efficiency=0.6)
_TRIANGLE = Kernel("void at::native::triu_tril_kernel<{t}, int, true, 8, false>", efficiency=0.8)
_SELECTED = Kernel("void at_cuda_detail::cub::DeviceSelectSweepKernel<{t}>", "all", 2, 0.6)
_POOL = Kernel(f"{_ANON}max_pool_forward_nchw<{{t}}, int>", efficiency=0.5)
_POOL_BACK = Kernel(f"{_ANON}max_pool_backward_nchw<{{t}}, float>", efficiency=0.4)
_MEAN_POOL = Kernel("void at::native::avg_pool2d_out_cuda_frame<{t}, float, int>", efficiency=0.6)
_FACTORED = Kernel("void cusolver::getrf_kernel<{t}>", passes=4, efficiency=0.05)

KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(
        ("uniform", "normal", "normal_fill", "rand", "randn", "randint", "bernoulli", "exponential"),
        _RANDOM,
    ),
    "randperm": Kernel(_SORT.name, "output", 6, 0.6),
    "multinomial": Kernel("void at::native::(anonymous namespace)::sampleMultinomialOnce<{t}, float>", "all", 2, 0.5),
    "native_dropout": Kernel(f"{_ANON}fused_dropout_kernel_vec<{{t}}, float, unsigned int, 1, 4, bool>", flops=40),
    "_softmax": _SOFT,
    "_log_softmax": _SOFT,
    "_softmax_backward_data": _SOFT_BACK,
    "_log_softmax_backward_data": _SOFT_BACK,
    "native_layer_norm": Kernel(f"{_ANON}vectorized_layer_norm_kernel<{{t}}, float>", efficiency=0.85),
    "native_layer_norm_backward": Kernel(f"{_ANON}layer_norm_grad_input_kernel_vectorized<{{t}}, float>", efficiency=0.6),
    "native_group_norm": Kernel("void at::native::RowwiseMomentsCUDAKernel<{t}>", passes=1.5),
    "native_group_norm_backward": Kernel("void at::native::ComputeInternalGradientsCUDAKernel<{t}>", passes=1.5, efficiency=0.8),
    "embedding": Kernel("void at::native::(anonymous namespace)::indexSelectLargeIndex<{t}, long, unsigned int, 2, 2, -2, true>", "picked", efficiency=0.8),
    "embedding_dense_backward": Kernel("void at::native::(anonymous namespace)::embedding_backward_feature_kernel<{t}, float, long>", "put", efficiency=0.5),
    "index": Kernel("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> > > >", "picked", efficiency=0.6),
    "index_select": Kernel(f"{_ANON}indexSelectLargeIndex<{{t}}, long, unsigned int, 2, 2, -2, true>", "picked", efficiency=0.8),
    "gather": _PICKED,
    "take": _PICKED,
    "index_put": _PUT,
    "index_copy": _PUT,
    "index_fill": _PUT,
    "index_add": _ADDED,
    "scatter": _SCATTERED,
    "scatter_add": _SCATTERED,
    "cumsum": _SCAN,
    "cumprod": _SCAN,
    "sort": _SORT,
    "argsort": _SORT,
    "topk": Kernel("void at::native::sbtopk::gatherTopK<{t}, unsigned int, 2, false>", "all", 5, 0.5),
    "fft_fft": _FFT,
    "fft_ifft": _FFT,
    "fft_rfft": _FFT,
    "fft_irfft": _FFT,
    "cat": Kernel(f"{_ANON}CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 4, 64, 64>", efficiency=0.7),
    "stack": Kernel(f"{_ANON}CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 4, 64, 64>", efficiency=0.7),
    "repeat": Kernel(f"{_ANON}elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>", efficiency=0.6),
    "constant_pad_nd": _PAD,
    "flip": Kernel("void at::native::elementwise_kernel<128, 4, at::native::flip_kernel_impl<{t}> >", efficiency=0.6),
    "roll": _SHIFTED,
    "tril": _TRIANGLE,
    "triu": _TRIANGLE,
    "nonzero": _SELECTED,
    "masked_select": _SELECTED,
    "max_pool2d_with_indices": _POOL,
    "max_pool2d_with_indices_backward": _POOL_BACK,
    "avg_pool2d": _MEAN_POOL,
    "avg_pool2d_backward": Kernel("void at::native::avg_pool2d_backward_out_cuda_frame<{t}, float, int>", efficiency=0.5),
    "linalg_cholesky": _FACTORED,
    "linalg_inv": _FACTORED,
    "linalg_det": _FACTORED,
    "linalg_slogdet": _FACTORED,
    "linalg_solve": _FACTORED,
}  # fmt: skip

REDUCTIONS = frozenset(
    "sum mean prod all any count_nonzero amax amin max min argmax argmin var std logsumexp "
    "linalg_vector_norm nansum median".split()
)
INDICES = frozenset({"arange", "linspace", "eye"})
FILLS = frozenset({"fill", "zero", "full", "ones", "zeros", "full_like", "ones_like", "zeros_like"})
COPIES = frozenset({"copy", "clone", "contiguous", "_to_copy", "detach_copy"})
# They answer the host, or make nothing: no kernel.
NOTHING = frozenset({"empty", "empty_like", "_local_scalar_dense", "item", "empty_strided"})
