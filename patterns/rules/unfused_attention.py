"""TDY504: attention computed as two products with a softmax between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tidy.account import rates_of
from tidy.account.efficiency import path_of
from tidy.account.op_nbytes import is_elementwise
from tidy.finding import Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims
from tidy.trace.intervals import any_within

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.autograd import backward_of, forward_links
from ..evidence.device.obstacles import other_accelerator, without_device
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.python.op_names import VIEWS, aten
from ..evidence.time import timing
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import LARGE_INFO, WORTH_A_WARNING, Option, warning_share, word_share

_SOFTMAX, _PRODUCTS = "aten::_softmax", ("aten::bmm", "aten::baddbmm")
# What else may happen to the scores: dropout, masks, and zeros for rows that a mask hides whole,
# as `aten::_safe_softmax` has them.
_ALLOWED = aten(
    "bernoulli_ tril triu bitwise_not logical_not bitwise_and bitwise_or _softmax isneginf all"
    " scalar_tensor fill_"
)
# Ops that multiply other things, though they ran between the two products.
_OTHERS = aten("mm addmm convolution convolution_backward")

# What prepares tensors on a CPU, and computes nothing.
_MOVES = VIEWS | aten(
    "empty empty_like empty_strided resize_ clone copy_ contiguous _to_copy to resolve_conj"
    " resolve_neg _unsafe_view _reshape_alias lift_fresh"
)
# Measured with PyTorch 2.13, forward and backward: of 128 to 1024 queries, of 16 to 64 columns.
_LEFT_ON_A_CPU = (0.4, 1.0)

# A backward has five products where the forward has two, and as many more to read.
_WITH_BACKWARD = 3.5
# Of the time that rates allow a fused kernel takes so many times more, at best and at worst.
_TIMES = 1.7, 5.0
_AT_WORST, _UNKNOWN = 0.3, (0.15, 0.5)
# The host takes as long for a fused one as for so many operators that launch kernels, at best and
# at worst, in the forward and as many in the backward (H200, PyTorch 2.11, with a mask: 3).
_OPS_OF_A_CALL = 3, 6
_FUSED = "scaled_dot_product"
_CALL = "aten::scaled_dot_product_attention"
_WHOLE = 8  # columns of a head in half precision, for Tensor Cores
_ASK = "sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION) of torch.nn.attention warns why"
_BY_THE_MODULE = ("multi_head_attention", "torch/nn/modules/activation.py", "MultiheadAttention")


def _example(queries: int, keys: int, between: str = "", softmax: str = "") -> str:
    """Attention of 8 heads of 64 columns."""
    t = "c10::Half"
    scores = f"aten::bmm | {t}[8, {queries}, 64], {t}[8, 64, {keys}]"
    mixed = f"aten::bmm | {t}[8, {queries}, {keys}], {t}[8, {keys}, 64]"
    dims = softmax or f"{t}[1, 8, {queries}, {keys}]"
    return joined(
        launch(scores, "s16816gemm_fp16 300us"),
        between,
        launch(f"aten::softmax > aten::_softmax | {dims}, =-1, =False", "softmax_forward 400us"),
        launch(mixed, "s16816gemm_fp16 300us"),
    )


_MASKED = launch("aten::masked_fill_ | c10::Half[1, 8, 512, 512], bool[512, 512]", "fill 90us")
_SORTED = launch("aten::sort | c10::Half[1, 8, 512, 512]", "radixSort 90us")
_FLASH = launch("aten::_scaled_dot_product_flash_attention", "flash_fwd_kernel 300us")
_SLOW = under("aten::scaled_dot_product_attention", _example(512, 512))
_CLASSES = launch("aten::_softmax | float[64, 1000], =-1, =False", "softmax_forward 400us")
_ON_A_CPU = joined(
    "aten::bmm 90us | float[8, 64, 16], float[8, 16, 64]",
    "aten::div 9us | float[1, 8, 64, 64], Scalar",
    "aten::softmax > aten::_softmax 90us | float[1, 8, 64, 64], =-1, =False".replace(" > ", "\n  "),
    "aten::bmm 90us | float[8, 64, 64], float[8, 64, 16]",
)
# Of rows that a mask hides whole.
_ZEROED = "aten::isneginf\n  aten::eq\naten::all\naten::scalar_tensor\n  aten::fill_\naten::where\n"
_SAFE = _ON_A_CPU.replace("=False\n", f"=False\n{_ZEROED}")


class UnfusedAttention(Pattern):
    """Attention runs as two products with a softmax between them, and writes out all scores.

    What it does: It finds a softmax between two batched products, of which one makes its scores and
    the other takes them, with nothing but scaling, masks and dropout between them, and the backward
    of all that. Fewer than 16 queries or 32 keys are left alone, and so is what takes less than 1 %
    of the time. On a CPU, where a fused kernel saves less and has no dropout, it is info from 5 %
    of the steps on, without dropout.
    Why it costs: Each score is written and read again several times, a matrix of queries times keys
    for each head. A fused kernel keeps them on the chip.
    Example: `torch.softmax(q @ k.transpose(-2, -1) / 8, -1) @ v`, recorded as

        aten::bmm       [heads, queries, size] x [heads, size, keys]
        aten::_softmax  [batch, heads, queries, keys]
        aten::bmm       [heads, queries, keys] x [heads, keys, size]

    Instead: Call `F.scaled_dot_product_attention(q, k, v)`, with `is_causal=True` or `attn_mask`;
    for biases that follow from positions there is `torch.nn.attention.flex_attention`. In
    `nn.MultiheadAttention` set `need_weights=False`, in Hugging Face's models
    `attn_implementation="sdpa"`. Where it was called and fell back, for instance in float64 or with
    heads of odd sizes, it is info: `with torch.nn.attention.sdpa_kernel` of a fused backend warns
    why that cannot be used.
    Cannot see: The trace does not tell whether the weights themselves are used. It misses attention
    of compiled regions and of `einsum` that needs no batched product.
    """

    code = "TDY504"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    triggers = frozenset({_SOFTMAX})
    fix = "F.scaled_dot_product_attention(q, k, v) computes it in one kernel"
    fewest_queries = Option(
        16, "of fewer there is little to fuse; a decoder of one token has one query", least=1
    )
    fewest_keys = Option(32, "of fewer keys there is little to fuse, either", least=1)
    worth_a_word = word_share(0.01, "attention")
    worth_a_word_on_a_cpu = word_share(LARGE_INFO, "attention on a CPU")
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("by-hand", on_gpu(_example(512, 512), frame=FRAME), at=AT),
        Fires("masked", on_gpu(_example(512, 512, _MASKED), frame=FRAME), at=AT),
        Fires("slow-path", on_gpu(_SLOW), severity=Severity.INFO),
        Quiet("one-token", on_gpu(_example(1, 512))),
        Quiet("tiny", on_gpu(_example(8, 8))),
        Quiet("of-classes", on_gpu(_example(512, 512, softmax="c10::Half[64, 1000]"))),
        Quiet("scores-are-sorted", on_gpu(_example(512, 512, _SORTED))),
        Quiet("fused", on_gpu(_FLASH, _CLASSES)),
        Quiet("little-before-the-steps", on_gpu(_example(512, 512), steps(WORK, lasts_us=90_000))),
        Quiet("little", on_gpu(_example(512, 512), launch("aten::relu", "relu 900000us"))),
        Abstains("no-shapes", on_gpu(launch(_SOFTMAX, "softmax_forward 9us"))),
        Fires("on-the-cpu", steps(under(FRAME, _ON_A_CPU)), 3, AT, Severity.INFO),
        Fires("safe-softmax", steps(under(FRAME, _SAFE)), 3, AT, Severity.INFO),
        Quiet("sorted-on-the-cpu", steps(_ON_A_CPU.replace("aten::div", "aten::sort"))),
        Quiet("little-on-the-cpu", steps(_ON_A_CPU, "aten::mm 90000us", lasts_us=None)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return None if trace.is_cpu_run else without_device(trace) or other_accelerator(trace)

    def find(self, trace: Trace) -> Matches:
        return self._on_a_gpu(trace) if trace.devices_used else self._on_the_cpu(trace)

    def _on_the_cpu(self, trace: Trace) -> Matches:
        ops = trace.rows_of_kind(EventKind.TorchOp)
        is_leaf = trace.subtree_end[ops] == ops + 1
        working = ops[is_leaf & ~launches.has_name(trace, *_MOVES)[trace.name_id[ops]]]
        every = _attentions(trace, working, self.fewest_queries, self.fewest_keys)
        dropped = launches.tree_rows(trace, "aten::bernoulli_", "aten::dropout")
        found = [
            each
            for each in every
            if not _calls_for_one_kernel(each.softmax) and not any_within(dropped, *each.rows)
        ]
        for part in places.parts(found, attrgetter("softmax.location"), attrgetter("softmax")):
            forward = np.concatenate([_ops_of(trace, each) for each in part])
            backward = backward_of(trace, forward)
            rows = np.concatenate([forward, backward])
            if (trace.step_share(trace.time_of(rows)) or 0.0) < self.worth_a_word_on_a_cpu:
                continue
            events = list(trace.events(rows.tolist()))
            edit = edits.without_ops(trace, events, "attention in one operator", _LEFT_ON_A_CPU)
            softmax = [each.softmax for each in part]
            yield Match(
                softmax, _message(part[0], len(backward) > 0), rows.tolist(), edit, Severity.INFO
            )

    def _on_a_gpu(self, trace: Trace) -> Matches:
        working = np.sort(trace.launching_ops(trace.rows_of_kind(EventKind.Kernel)), kind="stable")
        found = list(_attentions(trace, working, self.fewest_queries, self.fewest_keys))
        if trace.device_is_modelled:  # it has no fused kernel: what calls for one is right
            found = [each for each in found if not _calls_for_one_kernel(each.softmax)]
        if not found:
            return
        work, which, in_backward = _work_of(trace, found)

        def softmax(number: int) -> Event:
            return found[number].softmax

        numbers = range(len(found))
        for part in places.parts(numbers, lambda each: softmax(each).location, softmax):
            own = np.isin(which, part)
            rows = work[own]
            share = timing.part_of_window(trace, trace.time_of(rows))
            if not len(rows) or share < self.worth_a_word:
                continue
            backward = bool(in_backward[own].any())
            said = _message(found[part[0]], backward)
            edit = _fused(trace, [found[each] for each in part], rows, backward)
            # What fell back may have to: the trace does not tell all that fused kernels ask for.
            severity = Severity.INFO if _calls_for_one_kernel(softmax(part[0])) else None
            yield Match(list(map(softmax, part)), said, rows, edit, severity)

    def fix_of(self, events: Sequence[Event]) -> str:
        above = [each.name for each in events[0].ancestors()]
        if _calls_for_one_kernel(events[0]):
            return _what_keeps(events[0]) or _ASK
        if any(part in name for name in above for part in _BY_THE_MODULE):
            return "need_weights=False lets nn.MultiheadAttention compute it in one kernel"
        return self.fix


def _calls_for_one_kernel(softmax: Event) -> bool:
    """Tell whether it is in the slow path of `F.scaled_dot_product_attention`."""
    return any(_FUSED in each.name for each in softmax.ancestors())


def _what_keeps(softmax: Event) -> str:
    """Say what inputs of `F.scaled_dot_product_attention` no fused kernel takes; "" if unknown."""
    call = next((each for each in softmax.ancestors() if each.name == _CALL), None)
    shapes, dtypes = (call.input_shapes[:3], call.input_dtypes[:3]) if call else ((), ())
    if "double" in dtypes:
        return "fused kernels take no float64: float32, or half precision"
    if len(shapes) < 3 or not all(is_dims(each) and len(each) == 4 for each in shapes):
        return ""
    query, key, value = shapes
    if not query[:2] == key[:2] == value[:2]:
        return "fused kernels want q, k and v of the same batch and heads: expand them"
    is_half = set(dtypes) <= {"c10::Half", "c10::BFloat16"}
    if is_half and (query[3] % _WHOLE or value[3] % _WHOLE):
        return f"pad heads to a multiple of {_WHOLE} columns, which fused kernels with a mask want"
    return ""


def _message(attention: _Attention, backward: bool) -> str:
    sizes = "x".join(map(str, attention.softmax.input_shapes[0]))
    both = ", and its backward" if backward else ""
    if _calls_for_one_kernel(attention.softmax):
        return (
            "scaled_dot_product_attention falls back to several operators"
            f"{both}: scores of {sizes} are written and read again"
        )
    return f"attention as several operators{both}: scores of {sizes} are written and read again"


def _fused(trace: Trace, found: Sequence[_Attention], rows: Rows, backward: bool) -> Edit:
    """Return the run with one kernel, which reads queries, keys and values, for each attention.

    It takes what the device's rates make of the products; the host launches fewer operators.
    """
    device = trace.devices[int(trace.device[rows[0]])]
    rates, left = rates_of(device.name), _UNKNOWN
    path = path_of(found[0].dtype, True, device)
    peak = rates and ((path and rates.peak(*path)) or rates.peak("float32", False))
    if rates and peak:
        needs = (max(each.flops / peak, each.nbytes / rates.nbytes_per_s) for each in found)
        needed_s = sum(needs) * (_WITH_BACKWARD if backward else 1.0)
        part = needed_s * 1e9 / max(int(trace.duration_ns[rows].sum()), 1)
        best = min(_TIMES[0] * part, 1.0)
        left = best, min(max(_TIMES[1] * part, _AT_WORST, best), 1.0)
    ops = np.unique(trace.launching_ops(rows))
    ops = ops[ops >= 0]  # graphs launch kernels without operators
    calls = len(found) * (2 if backward else 1)
    fewest, most = (min(each * calls / max(len(ops), 1), 1.0) for each in _OPS_OF_A_CALL)
    host = edits.host_time(trace, ops) if fewest < 1 else {}
    return Edit(
        "attention in one kernel", host=host, work=rows, left=(fewest, most), work_left=left
    )


@dataclass(frozen=True, slots=True)
class _Attention:
    """One attention of a forward.

    Attributes:
        softmax: the op.
        rows: [first, last) in the tree, from the first product to the end of the second.
        flops: operations of both products.
        nbytes: of queries, keys, values and the result.
        dtype: of the products' inputs, as the profiler writes it.
    """

    softmax: Event
    rows: tuple[int, int]
    flops: int
    nbytes: int
    dtype: str


def _attentions(
    trace: Trace, working: Rows, fewest_queries: int, fewest_keys: int
) -> Iterator[_Attention]:
    """All attentions of so many queries and keys that are computed step by step, by row.

    Args:
        working: rows of operators that launch kernels or, on a CPU, compute something themselves.
    """
    products = trace.rows_named(*_PRODUCTS)
    for row in trace.rows_named(_SOFTMAX).tolist():
        track = trace.track_id[row]
        after = int(np.searchsorted(products, row))
        if not 0 < after < len(products):
            continue
        first, last = trace.event(int(products[after - 1])), trace.event(int(products[after]))
        if trace.track_id[first.row] == track == trace.track_id[last.row]:
            found = _attention(trace.event(row), first, last, working)
            if found is None:
                continue
            queries, keys = found.softmax.input_shapes[0][-2:]
            if queries >= fewest_queries and keys >= fewest_keys:
                yield found


def _attention(softmax: Event, first: Event, last: Event, working: Rows) -> _Attention | None:
    dims: tuple[int, ...] = softmax.input_shapes[0] if softmax.input_shapes else ()
    scores, mixed = _sizes(first), _sizes(last)
    if not is_dims(dims) or not 3 <= len(dims) <= 4 or not scores or not mixed:
        return None
    (batch, count, size, keys), out = scores, mixed[3]
    made_of_it = batch * count * keys == prod(dims) == prod(mixed[:3])
    made_of_it &= keys == dims[-1] == mixed[2]
    if not made_of_it or not _only_scores(first, last, working):
        return None
    dtypes = (*last.input_dtypes, "", "", "")
    dtype = str(dtypes[1 if last.name == "aten::bmm" else 2])
    rows = first.row, int(softmax.trace.subtree_end[last.row])
    nbytes = batch * (count + keys) * (size + out) * ITEM_NBYTES.get(dtype, 4)
    return _Attention(softmax, rows, 2 * prod(dims) * (size + out), nbytes, dtype)


def _sizes(product: Event) -> tuple[int, int, int, int] | tuple[()]:
    """Batch, rows, inner size and columns of a batched product."""
    at = 0 if product.name == "aten::bmm" else 1
    shapes = product.input_shapes[at : at + 2]
    if len(shapes) < 2 or not all(is_dims(each) and len(each) == 3 for each in shapes):
        return ()
    (batch, rows, inner), (_, _, columns) = shapes
    return batch, rows, inner, columns


def _ops_of(trace: Trace, attention: _Attention) -> Rows:
    """Operators of one attention that are in no other."""
    first, end = attention.rows
    forward = launches.ops_in_no_op(trace, int(trace.track_id[first]))
    # The first product may be in an operator, as in a `matmul` that begins before it.
    at = np.searchsorted(forward, first, side="right") - 1
    return forward[at : np.searchsorted(forward, end)]


def _only_scores(first: Event, last: Event, working: Rows) -> bool:
    """Tell whether nothing runs between the products but scaling, masking and dropout."""
    trace = first.trace
    ends = int(trace.subtree_end[first.row]), last.row
    between = working[slice(*np.searchsorted(working, ends))]
    names = {trace.names[each] for each in np.unique(trace.name_id[between]).tolist()}
    return all(is_elementwise(name) or name in _ALLOWED | _OTHERS for name in names)


def _work_of(trace: Trace, found: list[_Attention]) -> tuple[Rows, Rows, NDArray[np.bool_]]:
    """Return the device work of attentions, by row: of which, and whether of its backward."""
    firsts, lasts = np.array([each.rows for each in found], np.int64).T
    links = forward_links(trace)
    links = links[np.argsort(links[:, 0])]
    at = np.searchsorted(firsts, links[:, 1], side="right") - 1
    inside = (at >= 0) & (links[:, 1] < lasts[at])
    starts = np.concatenate([firsts, links[inside, 0]])
    ends = np.concatenate([lasts, trace.subtree_end[links[inside, 0]]])
    which = np.concatenate([np.arange(len(found)), at[inside]])
    in_backward = np.arange(len(which)) >= len(found)
    order = np.argsort(starts, kind="stable")
    starts, ends, which, in_backward = starts[order], ends[order], which[order], in_backward[order]
    outer = ends > np.append(-1, np.maximum.accumulate(ends)[:-1])
    starts, ends, which, in_backward = starts[outer], ends[outer], which[outer], in_backward[outer]
    rows = trace.device_rows
    ops = trace.launching_ops(rows)
    at = np.searchsorted(starts, ops, side="right") - 1
    mine = (ops >= 0) & (at >= 0) & (ops < ends[at])
    mine &= ~np.isin(ops, trace.rows_named(*_OTHERS))
    at = at[mine]
    return rows[mine], which[at], in_backward[at]
