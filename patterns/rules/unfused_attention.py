"""TDY504: attention computed as two products with a softmax between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidy.account import rates_of
from tidy.account.efficiency import precision_of
from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern
from ..evidence import places, timing
from ..evidence.attention import SOFTMAX, Attention, WorkOfAttention, attentions
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..match import Match
from ..option import Option, warning_share, word_share

# A backward has five products where the forward has two, and as many more to read.
_WITH_BACKWARD = 3.5
# Of the time that rates allow a fused kernel takes so many times more, at best and at worst.
_TIMES = 1.7, 5.0
_AT_WORST, _UNKNOWN = 0.3, (0.15, 0.5)
_FUSED = "scaled_dot_product"
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
_CLASSES = launch("aten::_softmax | float[64, 1000], =-1, =False", "softmax_forward 400us")


class UnfusedAttention(DevicePattern):
    """Attention runs as two products with a softmax between them, and writes out all scores.

    What it does: It finds a softmax between two batched products, of which one makes its scores and
    the other takes them, with nothing but scaling, masks and dropout between them, and the backward
    of all that. Fewer than 16 queries or 32 keys are left alone, and so is what takes less than 1 %
    of the time.
    Why it costs: Each score is written and read again several times, a matrix of queries times keys
    for each head. A fused kernel keeps them on the chip.
    Example: `torch.softmax(q @ k.transpose(-2, -1) / 8, -1) @ v`, recorded as

        aten::bmm       [heads, queries, size] x [heads, size, keys]
        aten::_softmax  [batch, heads, queries, keys]
        aten::bmm       [heads, queries, keys] x [heads, keys, size]

    Instead: Call `F.scaled_dot_product_attention(q, k, v)`, with `is_causal=True` or `attn_mask`;
    for biases that follow from positions there is `torch.nn.attention.flex_attention`. In
    `nn.MultiheadAttention` set `need_weights=False`, in Hugging Face's models
    `attn_implementation="sdpa"`. Where it was called and took its slow path,
    `torch.nn.attention.sdpa_kernel` says why.
    Cannot see: The trace does not tell whether the weights themselves are used. It misses attention
    of compiled regions and of `einsum` that needs no batched product.
    """

    code = "TDY504"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    triggers = frozenset({SOFTMAX})
    fix = "F.scaled_dot_product_attention(q, k, v) computes it in one kernel"
    fewest_queries = Option(
        16,
        "of fewer there is little to fuse; a decoder that makes one token has one query",
        least=1,
    )
    fewest_keys = Option(32, "of fewer keys there is little to fuse, either", least=1)
    worth_a_word = word_share(0.01, "attention")
    warning_from = warning_share(timing.WORTH_A_WARNING)
    examples = (
        Fires("by-hand", on_gpu(_example(512, 512), frame=FRAME), at=AT),
        Fires("masked", on_gpu(_example(512, 512, _MASKED), frame=FRAME), at=AT),
        Fires("slow-path", on_gpu(under("aten::scaled_dot_product_attention", _example(512, 512)))),
        Quiet("one-token", on_gpu(_example(1, 512))),
        Quiet("tiny", on_gpu(_example(8, 8))),
        Quiet("of-classes", on_gpu(_example(512, 512, softmax="c10::Half[64, 1000]"))),
        Quiet("scores-are-sorted", on_gpu(_example(512, 512, _SORTED))),
        Quiet("fused", on_gpu(_FLASH, _CLASSES)),
        Quiet(
            "little-before-the-steps",
            on_gpu(_example(512, 512), steps(WORK, lasts_us=90_000)),
        ),
        Quiet("little", on_gpu(_example(512, 512), launch("aten::relu", "relu 900000us"))),
        Abstains("no-shapes", on_gpu(launch(SOFTMAX, "softmax_forward 9us"))),
        Abstains("cpu-run", "aten::_softmax | float[8, 512, 512], =-1, =False"),
    )

    def find(self, trace: Trace) -> Iterable[Match]:
        found = list(attentions(trace, self.fewest_queries, self.fewest_keys))
        if trace.device_is_modelled:  # it has no fused kernel: what calls for one is right
            found = [each for each in found if not _calls_for_one_kernel(each.softmax)]
        if not found:
            return
        work = WorkOfAttention(trace, found)

        def softmax(numbered: tuple[int, Attention]) -> Event:
            return numbered[1].softmax

        for part in places.parts(enumerate(found), lambda each: softmax(each).location, softmax):
            numbers, same = zip(*part, strict=True)
            rows = [row for each in numbers for row in work.of(each)]
            time = trace.time_of(rows)
            if not rows or timing.part_of_window(trace, time) < self.worth_a_word:
                continue
            backward = any(map(work.has_backward, numbers))
            yield Match(
                list(map(softmax, part)),
                message=_message(same[0], backward),
                severity=self.warning_from,
                cost=rows,
                edit=_fused(trace, same, rows, backward),
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        above = [each.name for each in events[0].ancestors()]
        if _calls_for_one_kernel(events[0]):
            return "see with torch.nn.attention.sdpa_kernel why no fused kernel was taken"
        if any(part in name for name in above for part in _BY_THE_MODULE):
            return "need_weights=False lets nn.MultiheadAttention compute it in one kernel"
        return self.fix


def _calls_for_one_kernel(softmax: Event) -> bool:
    """Whether it is in the slow path of `F.scaled_dot_product_attention`."""
    return any(_FUSED in each.name for each in softmax.ancestors())


def _message(attention: Attention, backward: bool) -> str:
    sizes = "x".join(map(str, attention.softmax.input_shapes[0]))
    both = ", and its backward" if backward else ""
    return f"attention in steps{both}: scores of {sizes} are written and read again"


def _fused(trace: Trace, found: Sequence[Attention], rows: list[int], backward: bool) -> Edit:
    """A kernel that reads queries, keys and values, and takes what rates make of its products."""
    device = trace.devices[int(trace.device[rows[0]])]
    rates, left = rates_of(device.name), _UNKNOWN
    name = precision_of(found[0].dtype, True, device.vendor) or ""
    peak = rates and (rates.peak(name, True) or rates.peak("float32", False))
    if rates and peak:
        needed_s = sum(
            max(each.flops / peak, each.nbytes / rates.nbytes_per_s) for each in found
        ) * (_WITH_BACKWARD if backward else 1.0)
        spent_ns = max(int(trace.duration_ns[np.asarray(rows, np.int64)].sum()), 1)
        part = needed_s * 1e9 / spent_ns
        best = min(_TIMES[0] * part, 1.0)
        left = best, min(max(_TIMES[1] * part, _AT_WORST, best), 1.0)
    return Edit("attention in one kernel", work=rows, left=left)
