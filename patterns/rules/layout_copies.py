"""TDY204: tensors copied into another layout for each convolution, or for a product."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Event, Events, Rows, Trace, rows_of
from tidy.trace.inputs import ITEM_NBYTES, Shape, is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import devices, launches
from ..evidence.device.graphs import GRAPH_LAUNCHES
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.python.op_names import aten
from ..examples import AT, Fires, Quiet, joined, launch, looped, on_gpu, steps, under
from ..option import EASY_WARNING, Option, share, warning_share

# What cuDNN and MIOpen run to bring images from one layout to the other. What brings NHWC into a
# folded form (nhwcToFoldedNhwc) is a part of its algorithm, whatever layout the model has.
_CONVERSION = re.compile(
    r"(void )?(.*nchwTo\w*Nhwc|.*[nN]hwcToNchw|batched_transpose_\d|transpose_(NCHW|CNHW)2).*"
)
_CONVERTS = ("*nchwTo*Nhwc*", "*hwcToNchw*", "*batched_transpose_*", "transpose_*2*")
_PADS, _PADDING = "*AddPaddingKernel*", re.compile("AddPaddingKernel").search
_ALIGNED_NBYTES = 16  # of the channels of a pixel, for Tensor Cores to read them
_IMAGE_CHANNELS = 4  # of the images themselves at most: to pad them earlier costs as much
_CONVOLUTIONS = (
    "aten::cudnn_convolution*", "aten::miopen_convolution*", "aten::convolution_backward",
    "aten::cudnn_convolution*backward*",
)  # fmt: skip
_OF_ONE_DIMENSION = aten("conv1d conv_transpose1d")
_OF_MORE = aten("conv2d conv3d conv_transpose2d conv_transpose3d")
_FOR_EACH = 3  # conversions for a convolution: of the image, the filter and the result
_CONVERSIONS_LEFT, _COPIES_LEFT = (0.0, 0.25), (0.0, 0.2)
# PyTorch's own batch norms of images in NCHW; those of channels_last took 0.31 to 0.54 of their
# time on an H100 (ResNet-50 in bfloat16), all three together 0.40.
_NORMS = (
    "*batch_norm_collect_statistics_kernel*", "*batch_norm_transform_input_kernel*",
    "*batch_norm_backward_kernel*",
)  # fmt: skip
_NORMS_LEFT = (0.35, 0.8)
_IMAGE_DIMS = 4
_TRANSPOSES = aten("transpose t permute numpy_T")
_PRODUCTS = aten("mm bmm addmm baddbmm matmul linear einsum")
_PADDED_LEFT = (0.0, 1.0)  # what else reads the layers then reads more channels
_CHANNELS_LAST = "model.to(memory_format=torch.channels_last), and the images too"
_OF_SIGNALS = "Conv2d of height 1 in channels_last: Conv1d has no such layout"
_ON_ROCM = f"{_CHANNELS_LAST}, with PYTORCH_MIOPEN_SUGGEST_NHWC=1"
_WHOLE_CHANNELS = "give layers a number of channels that is a multiple of 8"

_TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<float> 10us"
_CONV = launch("aten::conv2d > aten::cudnn_convolution", _TO_NHWC, "sm80_xmma_fprop_nhwc 40us")
_PLAIN_CONV = launch("aten::conv2d > aten::cudnn_convolution", "sm80_xmma_fprop_nhwc 40us")
_STRIDED = "transpose_NCHW2CNHW_V2_2D_WG_off64 10us", "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64 40us"
_STRIDED_CONV = launch("aten::conv2d > aten::miopen_convolution", *_STRIDED)
_PADDED = "sm80_xmma_fprop_nhwc 40us", "void cudnn::ops::nhwcAddPaddingKernel<__half> 20us"
_PADDED_CONV = launch("aten::conv2d > aten::cudnn_convolution{shapes}", *_PADDED)
_OF_LAYERS = " | c10::Half[8, 65, 32, 32], c10::Half[64, 65, 3, 3]"
_OF_WHOLE = _OF_LAYERS.replace("65", "64")
_OF_IMAGES = _OF_LAYERS.replace("65", "3")
_IN_GRAPH = [f"=> {_TO_NHWC}", "=> sm80_xmma_fprop_nhwc 40us"] * 12
_GRAPH = under("aten::relu > cudaGraphLaunch 5us", *_IN_GRAPH)
_GRAPH_OF_ONE = "aten::relu > cudaGraphLaunch 5us", *_IN_GRAPH[:12]
_T = "aten::transpose | float[8, 64, 32], =1, =2"
_COPIED = launch(
    "aten::contiguous | float[8, 32, 64] > aten::clone > aten::copy_", "copy_kernel 20us"
)
_PRODUCT = launch("aten::bmm | float[8, 16, 32], float[8, 32, 64]", "gemm 40us")
_MERGED = launch("aten::view | float[8, 32, 64], =[8, 2048]", "none 1us")


class LayoutCopies(Pattern):
    """Tensors are copied into another layout for each convolution, or before a product.

    What it does: It finds kernels that turn images from NCHW to NHWC and back around convolutions,
    in four or more of them a step; as info, kernels that pad the channels of layers; and copies of
    a transposed matrix that only a product reads.
    Why it costs: Convolutions on Tensor Cores read NHWC. In a model whose tensors are NCHW, cuDNN
    and MIOpen copy what goes into each of them and what comes out. The channels of a pixel have to
    fill 16 bytes, or cuDNN copies the tensor with more of them. Half precision uses PyTorch's own
    batch norm kernels, which are slower on NCHW on GPUs of NVIDIA. Products read a transposed
    matrix as it is, so the copy moves all of it for nothing.
    Example: `Conv2d` after `Conv2d` in half precision, and `a @ b.transpose(1, 2).contiguous()`:

        aten::cudnn_convolution  => nchwToNhwcKernel  => ..._fprop_..._nhwc  => nhwcToNchwKernel
        aten::transpose
        aten::contiguous         => a copy
        aten::bmm

    Instead: Keep images in `torch.channels_last` from the first layer on (`Conv1d` has no such
    layout, but `Conv2d` of height 1 has), give layers a number of channels that is a multiple of 8,
    and pass a transposed matrix on without `contiguous()`.
    Cannot see: It says nothing of padded images of up to four channels: somebody has to pad them.
    In graphs it counts the kernels alone. It says nothing of a `contiguous()` before a `view`,
    which needs it, even if the view is of another tensor of the same shape.
    """

    code = "TDY204"
    fix = "leave out contiguous(): a product reads a transposed matrix as it is"
    fewest_a_step = Option(
        4, "a model of fewer convolutions begins with one, as vision transformers do", least=1
    )
    least_share = share(
        0.005, "conversions that take less of the steps than this are not worth a word"
    )
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("around-convolutions", looped(_CONV * 4, lasts_us=400), events=8, at=AT),
        Fires("of-signals", looped(_CONV.replace("conv2d", "conv1d") * 4, lasts_us=400),
              events=8, at=AT, severity=Severity.INFO),
        Fires("in-a-graph", looped(_GRAPH, lasts_us=None), events=24, at=AT),
        Fires("strided-on-miopen", looped(_STRIDED_CONV * 4, lasts_us=400), events=8, at=AT),
        Fires("before-a-product", looped(_T, _COPIED, _PRODUCT, lasts_us=200), events=2, at=AT),
        Fires("padded-layers", looped(_PADDED_CONV.format(shapes=_OF_LAYERS), lasts_us=200),
              events=2, at=AT, severity=Severity.INFO),
        Fires("padded-without-shapes", looped(_PADDED_CONV.format(shapes="") * 4, lasts_us=400),
              events=8, at=AT, severity=Severity.INFO),
        Quiet("padded-images",
              looped(_PADDED_CONV.format(shapes=_OF_IMAGES) * 4, lasts_us=400)),
        Quiet("padded-by-choice", looped(_PADDED_CONV.format(shapes=_OF_WHOLE), lasts_us=200)),
        Quiet("padded-once-without-shapes", looped(_PADDED_CONV.format(shapes=""), lasts_us=200)),
        Quiet("channels-last", on_gpu(steps(_PLAIN_CONV * 4, count=2))),
        Quiet("one-convolution-in-a-graph", looped(under(*_GRAPH_OF_ONE), lasts_us=400)),
        Quiet("one-convolution", on_gpu(steps(_CONV, _PRODUCT, count=2))),
        Quiet("next-to-nothing", on_gpu(steps(_CONV * 4, count=2, lasts_us=90_000))),
        Quiet("needed-for-a-view", on_gpu(steps(_T, _COPIED, _MERGED, count=2))),
        Quiet("viewed-after-the-product", on_gpu(steps(_T, _COPIED, _PRODUCT, _MERGED, count=2))),
        Quiet("no-copy", on_gpu(steps(_T, _PRODUCT, count=2))),
        Quiet("once", on_gpu(joined(_T, _COPIED, _PRODUCT))),
    )  # fmt: skip

    def find(self, trace: Trace) -> Matches:
        converting = launches.rows_matching(trace, _CONVERSION, *_CONVERTS)
        converting = converting[(trace.device[converting] >= 0) & trace.in_window(converting)]
        yield from self._around_convolutions(trace, converting)
        yield from self._padded(trace, converting)
        for events in loops.Loop(trace).parts(_copied_for_products(trace), lambda op: op):
            yield Match(
                events,
                message="a transposed matrix is copied for a product, which reads it as it is",
                cost=[row for op in events for row in launches.work_or_op(op)],
                edit=edits.without_ops(trace, events, "without the copy", _COPIES_LEFT),
            )

    def _around_convolutions(self, trace: Trace, work: Rows) -> Matches:
        ops = trace.launching_ops(work)
        # A graph's launch is all that is known of the operators in it.
        in_graph = np.isin(trace.caller[work], launches.calls_of(trace, *GRAPH_LAUNCHES))
        is_alone = in_graph | (ops < 0)
        calls, number = np.unique(np.where(is_alone, work, ops), return_inverse=True)
        share = trace.step_share(trace.time_of(work)) or 0.0
        conversions = _FOR_EACH * len(calls) - (_FOR_EACH - 1) * np.count_nonzero(is_alone)
        fewest = _FOR_EACH * self.fewest_a_step * trace.window.step_count
        if conversions < fewest or share < self.least_share:
            return
        count = np.count_nonzero(trace.in_window(trace.rows_named(*_CONVOLUTIONS)))
        within = f" of {count:,}" if count >= len(calls) else ""
        around = f"around {len(calls):,}{within} convolutions"
        spent_ns = np.bincount(number, trace.duration_ns[work])
        is_known = bool(devices.used_devices(trace, "nvidia"))  # of others nothing was measured
        norms = _norms_of_images(trace) if is_known else work[:0]
        left = _left_of_both(trace, work, norms)
        yield Match(
            Events(trace, calls),
            message="images change their layout "
            + (f"{len(work):,} times, for convolutions" if is_alone.mean() > 1 / 2 else around)
            + (" in graphs" if in_graph.mean() > 1 / 2 else "")
            + (f", and {len(norms):,} kernels of batch norms read NCHW" if len(norms) else ""),
            cost=np.append(work, norms),
            location=trace.location(int(calls[spent_ns.argmax()])),
            edit=Edit("all in one layout", work=np.append(work, norms), left=left),
            # Of signals in one dimension the model has to be written anew.
            severity=Severity.INFO if _are_of_signals(trace, calls) else None,
        )

    def _padded(self, trace: Trace, converting: Rows) -> Matches:
        """Find convolutions of layers whose channels cuDNN pads, by shapes or by how many are.

        Those that also convert layouts are left to the finding of these.
        """
        work = trace.rows_named(_PADS)
        work = work[(trace.device[work] >= 0) & trace.in_window(work)]
        ops, number = np.unique(trace.launching_ops(work), return_inverse=True)
        channels = [_unaligned(trace.event(op)) if op >= 0 else None for op in ops.tolist()]
        known = {each for some in channels for each in some or () if each > _IMAGE_CHANNELS}
        # One that pads images does so in the forward and in the backward.
        unknown = sum(some is None for some in channels)
        is_layer = np.array([bool(known.intersection(some or ())) for some in channels], bool)
        if unknown >= self.fewest_a_step * trace.window.step_count:
            is_layer |= [some is None for some in channels]
        is_layer &= (ops >= 0) & ~np.isin(ops, trace.launching_ops(converting))
        rows = work[is_layer[number]]
        if (trace.step_share(trace.time_of(rows)) or 0.0) < self.least_share:
            return
        of = f" (of {', '.join(map(str, sorted(known)))} channels)" if known else ""
        spent_ns = np.bincount(number, trace.duration_ns[work]) * is_layer
        yield Match(
            Events(trace, ops[is_layer]),
            message=f"channels are padded around {np.count_nonzero(is_layer):,} convolutions{of}",
            cost=rows,
            location=trace.location(int(ops[spent_ns.argmax()])),
            edit=Edit("channels that fill 16 bytes", work=rows, left=_PADDED_LEFT),
            severity=Severity.INFO,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        if not events or events[0].name in ("aten::contiguous", "aten::clone"):
            return self.fix
        work = [each.name for each in events[0].kernels]
        if any(map(_PADDING, work)) and not any(map(_CONVERSION.fullmatch, work)):
            return _WHOLE_CHANNELS
        if _are_of_signals(events[0].trace, rows_of(events)):
            return _OF_SIGNALS
        is_amd = bool(devices.used_devices(events[0].trace, "amd"))
        return _ON_ROCM if is_amd else _CHANNELS_LAST


def _norms_of_images(trace: Trace) -> Rows:
    """Kernels in the window of PyTorch's own batch norms whose inputs are images in NCHW."""
    work = trace.rows_named(*_NORMS)
    work = work[(trace.device[work] >= 0) & trace.in_window(work)]
    ops = trace.launching_ops(work)
    work, ops = work[ops >= 0], ops[ops >= 0]

    def dims(_: str, inputs_id: int) -> int:
        return max(
            (len(each) for each in trace.inputs.shapes(inputs_id) if is_dims(each)), default=0
        )

    images: Rows = work[trace.by_call(ops, dims) >= _IMAGE_DIMS]
    return images


def _left_of_both(trace: Trace, conversions: Rows, norms: Rows) -> tuple[float, float]:
    """Return the part that is left of all these kernels together, at best and at worst."""
    in_norms, others = (float(trace.duration_ns[rows].sum()) for rows in (norms, conversions))
    share = in_norms / max(in_norms + others, 1.0)
    best, worst = (
        own + share * (of_norms - own)
        for own, of_norms in zip(_CONVERSIONS_LEFT, _NORMS_LEFT, strict=True)
    )
    return best, worst


def _are_of_signals(trace: Trace, calls: Rows) -> bool:
    """Tell whether these operators are in convolutions of one dimension, and in no others."""
    one, more = (
        launches.below(trace, launches.tree_rows(trace, *names)).contains(calls).any()
        for names in (_OF_ONE_DIMENSION, _OF_MORE)
    )
    return bool(one and not more)


def _unaligned(op: Event) -> set[int] | None:
    """Return the numbers of channels that do not fill 16 bytes; None if shapes are unknown."""
    shapes = [each for each in op.input_shapes[:3] if is_dims(each) and len(each) > 2]
    item_nbytes = ITEM_NBYTES.get(str((*op.input_dtypes, "")[0]))
    if not shapes or item_nbytes is None:
        return None
    channels = {shape[1] for shape in shapes}
    if "backward" not in op.name and len(shapes) > 1:
        channels.add(shapes[1][0])  # the filters: so many channels come out
    return {each for each in channels if each * item_nbytes % _ALIGNED_NBYTES}


def _copied_for_products(trace: Trace) -> Iterator[Event]:
    """Copies of a transposed matrix between the op that transposes and a product that reads it."""
    copies = launches.tree_rows(trace, "aten::contiguous", "aten::clone")
    turns, multiplies = (launches.has_name(trace, *names) for names in (_TRANSPOSES, _PRODUCTS))
    for track in np.unique(trace.track_id[copies]).tolist():
        ops = launches.ops_in_no_op(trace, track)
        names = trace.name_id[ops]
        at = np.flatnonzero(np.isin(ops, copies))
        at = at[(at > 0) & (at < len(ops) - 1)]
        at = at[turns[names[at - 1]] & multiplies[names[np.minimum(at + 1, len(ops) - 1)]]]
        of_shape: dict[Shape, list[int]] = {}
        for each in at.tolist():
            before, copy, after = trace.events(ops[each - 1 : each + 2].tolist())
            if _is_transposed(before, copy) and copy.input_shapes[0] in after.input_shapes:
                of_shape.setdefault(copy.input_shapes[0], []).append(each)
        for shape, found in of_shape.items():
            # A view of the copy needs it, also after the product.
            views = np.append(_views_of(trace, ops, shape), len(ops))
            next_view = views[np.searchsorted(views, found)]
            alone = next_view >= np.append(found[1:], len(ops))
            yield from trace.events(ops[np.array(found)[alone]].tolist())


def _views_of(trace: Trace, ops: Rows, shape: Shape) -> Rows:
    """Tell which of the ops, by their places, view a tensor of this shape in another."""
    at: Rows = np.flatnonzero(launches.has_name(trace, "aten::view")[trace.name_id[ops]])
    numbers = trace.inputs_id[ops[at]]
    same = [each for each in np.unique(numbers) if trace.inputs.shapes(each)[:1] == (shape,)]
    return at[np.isin(numbers, same)]


def _is_transposed(before: Event, copy: Event) -> bool:
    """Tell whether a copy is of a matrix, or of several, whose columns lie together in memory."""
    shape: Shape = copy.input_shapes[0] if copy.input_shapes else ()
    copies = copy.name == "aten::clone" or copy.last_child is not None
    if not is_dims(shape) or len(shape) < 2 or not copies:
        return False
    strides: Shape = copy.input_strides[0] if copy.input_strides else ()
    if is_dims(strides) and len(strides) == len(shape):
        return bool(strides[-2] == 1 and strides[-1] > 1)
    source = before.input_shapes[0] if before.input_shapes else ()
    return bool(source == (*shape[:-2], shape[-1], shape[-2]))
