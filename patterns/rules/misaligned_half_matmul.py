"""TDY503: half-precision matrix products whose sizes Tensor Cores cannot tile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Intervals, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from ..base import Matches, Pattern
from ..evidence.device import devices, launches
from ..evidence.device.autograd import NODE
from ..evidence.fixes import edits
from ..evidence.python.made_places import module_made_at
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, under
from ..option import Option

# Position of the first matrix among the inputs.
_MATRIX = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
# Products of attention: their sizes are sequence lengths, which no one can pad at will.
_BATCHED = frozenset({"aten::bmm", "aten::baddbmm"})
_HALF = {"c10::Half": "float16", "c10::BFloat16": "bfloat16", "Half": "float16"}
_MULTIPLE = 8
_FIX_ON_AMD = "measure it with sizes padded to a multiple of 64: matrix cores have other tiles"

_AMD = "# hip_runtime_version 60000000\n# device 0 AMD Instinct MI300X\n"
_H100 = "# device 0 NVIDIA H100 9.0\n"
_ODD = "aten::mm | c10::BFloat16[64, 63], c10::BFloat16[63, 64]"
_HEAD = "aten::mm | c10::BFloat16[64, 64], c10::BFloat16[64, 3]"
_HALF_BIAS = "aten::addmm | c10::Half[63], float[64, 64], float[64, 63]"
_ODD_ROWS = "aten::addmm | c10::BFloat16[512], c10::BFloat16[141, 512], c10::BFloat16[512, 512]"
_NODE = f"{NODE}AddmmBackward0 > AddmmBackward0"
_OF_ROWS = "aten::mm | c10::BFloat16[512, 141], c10::BFloat16[141, 512]"


class MisalignedHalfMatmul(Pattern):
    """A float16 or bfloat16 matrix product has a size that is no multiple of 8.

    What it does: It looks at those inner and output sizes of matrix products that can be chosen.
    Rows (batch times sequence), which are the inner size of a weight's gradient, cannot, nor can
    the sizes of batched products (attention). A head of up to four columns is left alone, as
    padding gains nothing there. Where the run has no Tensor Cores for the dtype (on a CPU, for
    bfloat16 before compute capability 8.0) it is info, for the day on which it has; so it is on
    AMD, whose matrix cores have other tiles.
    Why it costs: Tensor Cores work on tiles of 8 elements (16 bytes). With other sizes cuBLAS takes
    slower kernels, pads, or before cuBLAS 11 leaves the Tensor Cores out.
    Example: `nn.Linear(512, 50257)` in half precision, recorded as

        aten::mm, aten::bmm, aten::addmm, aten::baddbmm
          Input type c10::Half or c10::BFloat16, one of the last two dims not a multiple of 8

    Instead: Pad the inner and the output size (vocabulary, hidden size) to a multiple of 8, better
    of 64.
    Cannot see: It misses sizes that are aligned but too small to fill a GPU, and float8, which
    wants multiples of 16.
    """

    code = "TDY503"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    triggers = frozenset(_MATRIX)
    why_no_edit = "what padding gains is known of Tensor Cores alone"
    fix = "pad the sizes to a multiple of 8 (of 64 for the vocabulary)"
    few_columns = Option(
        4, "a head of so few columns is read at the speed of memory, however it is padded"
    )
    examples = (
        Fires("inner-size", on_gpu(launch(_ODD, "gemm 9us"), frame=FRAME), at=AT),
        Quiet("rows-only", _H100 + launch(_ODD_ROWS, "gemm 9us")),
        Quiet("rows-of-a-gradient", _H100 + joined(_ODD_ROWS, under(_NODE, _OF_ROWS))),
        Quiet("a-head", _H100 + launch(_HEAD, "gemm 9us")),
        Fires("autocast", on_gpu(under(_ODD, launch(_ODD, "gemm 9us")), frame=FRAME), at=AT),
        Quiet("bias-under-autocast", on_gpu(launch(_HALF_BIAS, "gemm 9us"))),
        Fires("cpu", "aten::mm | c10::Half[64, 63], c10::Half[63, 64]", severity=Severity.INFO),
        Fires("amd", on_gpu(launch(_ODD, "gemm 9us"), gpu=_AMD), severity=Severity.INFO),
        Quiet("aligned", "aten::mm | c10::BFloat16[64, 64], c10::BFloat16[64, 64]"),
        Quiet("single-precision", "aten::mm | float[63, 65], float[65, 63]"),
        Abstains("no-shapes", "aten::mm"),
    )

    def match(self, event: Event) -> bool:
        return _product(event).dtype in _HALF and bool(self._odd(event))

    def find(self, trace: Trace) -> Matches:
        rows = trace.rows_named(*self.triggers)
        rows = rows[trace.by_dtypes(rows, lambda dtypes: not _HALF.keys().isdisjoint(dtypes))]
        rows = rows[trace.by_call(rows, partial(self._may_be_odd, trace)) > 0]
        odd = [event for event in trace.events(rows) if self.match(event)]
        for match in self.by_place(launches.innermost(odd)):
            yield replace(match, fix_place=module_made_at(trace, match.events))

    def cost_rows(self, event: Event) -> Iterable[int]:
        return launches.work_or_op(event)

    def severity_of(self, event: Event) -> Severity:
        return Severity.WARNING if _has_tensor_cores(event) else Severity.INFO

    def fix_of(self, events: Sequence[Event]) -> str:
        if _has_tensor_cores(events[0]):
            return self.fix
        is_amd = bool(devices.used_devices(events[0].trace, "amd"))
        return _FIX_ON_AMD if is_amd else f"on Tensor Cores: {self.fix}"

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """Nothing where the library pads well, at best twice the rate, on sizes that have grown."""
        if self.severity_of(events[0]) < self.severity:
            return None
        work = edits.work_of(trace, events)
        padded = ([-(-n // _MULTIPLE) * _MULTIPLE / n for n in self._odd(each)] for each in events)
        left = (0.5 * min(max(map(math.prod, padded)), 2.0), 1.0)
        return Edit("sizes that Tensor Cores tile", work=work, left=left) if len(work) else None

    def message(self, events: Sequence[Event]) -> str:
        (text, count) = Counter(_product(each).text for each in events).most_common(1)[0]
        more = len(events) - count
        others = f" and {more:,} other{'s' * (more > 1)}" if more else ""
        return f"{text}{others}: sizes are no multiples of {_MULTIPLE}"

    def _odd(self, event: Event) -> list[int]:
        """The inner and the output size, where they are odd and can be padded.

        Rows are batch times sequence, and the sizes of attention are sequence lengths, which nobody
        can choose. A head of a few columns is read at the speed of memory, however it is padded.
        """
        odd = self._odd_sizes(_product(event))
        if not odd or event.row not in _products_in_backward(event.trace):
            return odd
        return [size for size in odd if size in _chosen(event.trace)]

    def _may_be_odd(self, trace: Trace, name: str, inputs_id: int) -> bool:
        return bool(self._odd_sizes(_product_of(trace, name, inputs_id)))

    def _odd_sizes(self, product: _Product) -> list[int]:
        return [n for n in product.sizes if n % _MULTIPLE and n > self.few_columns]


class _Product(NamedTuple):
    """What all calls with the same inputs share.

    Attributes:
        dtype: of the matrices; under autocast the bias of a wrapper may have another.
        sizes: the inner and the output size, where they can be padded.
        text: `float16 product [64, 63] x [63, 64]`.
    """

    dtype: str
    sizes: tuple[int, ...]
    text: str


def _product(event: Event) -> _Product:
    trace = event.trace
    return _product_of(trace, event.name, int(trace.inputs_id[event.row]))


def _product_of(trace: Trace, name: str, inputs_id: int) -> _Product:
    known, first = _known_products(trace), _MATRIX[name]
    if (name, inputs_id) not in known:
        shapes = trace.inputs.shapes(inputs_id)[first : first + 2]
        left, right = (_sizes(shape) for shape in shapes) if len(shapes) == 2 else ((), ())
        dtype = str((*trace.inputs.dtypes(inputs_id)[first : first + 1], "")[0])
        text = f"{_HALF.get(dtype, dtype)} product {list(left)} x {list(right)}"
        known[name, inputs_id] = _Product(dtype, () if name in _BATCHED else right, text)
    return known[name, inputs_id]


@kept
def _known_products(_: Trace) -> dict[tuple[str, int], _Product]:
    """By name and inputs what `_product_of` has found."""
    return {}


@kept
def _in_backward(trace: Trace) -> Intervals:
    """The rows of a backward's nodes, and all below them."""
    return launches.below(trace, launches.tree_rows(trace, f"{NODE}*"))


@kept
def _products_in_backward(trace: Trace) -> frozenset[int]:
    """The rows of products in it."""
    rows = launches.tree_rows(trace, *_MATRIX)
    return frozenset(rows[_in_backward(trace).contains(rows)].tolist())


@kept
def _chosen(trace: Trace) -> set[int]:
    """The sizes of weights: those of the second matrices of products outside of a backward."""
    rows = launches.tree_rows(trace, *_MATRIX)
    rows = rows[~_in_backward(trace).contains(rows)]
    alike = np.unique(np.stack([trace.name_id[rows], trace.inputs_id[rows]]), axis=1).T
    found = set[int]()
    for name, inputs in alike.tolist():
        second = _MATRIX[trace.names[name]] + 1
        for shape in (trace.inputs.shapes(inputs) or ())[second : second + 1]:
            found.update(_sizes(shape))
    return found


def _sizes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The last two dims of one input; empty for what is no tensor."""
    return shape[-2:] if is_dims(shape) else ()


def _has_tensor_cores(event: Event) -> bool:
    """Tell whether the GPUs of the run have Tensor Cores for the dtype of `event`."""
    return _has_cores_for(event.trace, _HALF[_product(event).dtype])


@kept
def _has_cores_for(trace: Trace, dtype: str) -> bool:
    first = (8, 0) if dtype == "bfloat16" else (7, 0)
    nvidia = devices.used_devices(trace, "nvidia")
    return any((device.compute or (8, 0)) >= first for device in nvidia)
