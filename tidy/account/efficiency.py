"""How fast a device computed and read memory, against what it can do at the most.

The operations of products, convolutions and attention, and the bytes of elementwise operators,
follow from the dims of their inputs; the time is that of the kernels they launched. What has no
dims, or no formula, is uncounted, and its time is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import DeviceProperties, EventKind, Rows, Trace, Window
from ..trace.raw_columns import Interner
from . import work_kinds
from .device_rates import DeviceRates, rates_of
from .device_work import CODE_OF, kinds_by_name
from .op_flops import COUNTED_OPS, is_empty_op, op_dtype, op_flops
from .op_nbytes import is_elementwise, moved

_PRECISION = {
    "double": "float64", "float": "float32", "c10::Half": "float16", "c10::BFloat16": "bfloat16",
    "c10::Float8_e4m3fn": "float8", "c10::Float8_e5m2": "float8",
    "c10::Float8_e4m3fnuz": "float8", "c10::Float8_e5m2fnuz": "float8",
}  # fmt: skip
_FIRST_WITH_TF32 = 8, 0
_ON_MATRIX_CORES = [CODE_OF[work_kinds.TENSOR_CORES], CODE_OF[work_kinds.ATTENTION]]
_PRODUCTS = [*_ON_MATRIX_CORES, CODE_OF[work_kinds.ORDINARY], CODE_OF[work_kinds.PRODUCTS]]


@dataclass(frozen=True, slots=True)
class ProductRate:
    """Products, convolutions and attention of one precision, on one sort of cores.

    Attributes:
        precision: "float32", "tf32", "float16", ...
        on_matrix_cores: whether on Tensor Cores (Matrix Cores on AMD).
        flops: operations, a multiplication and an addition counting as two.
        time_ns: of their kernels.
        peak_flops_per_s: what the device can do at the most; None where that is not known.
    """

    precision: str
    on_matrix_cores: bool
    flops: int
    time_ns: int
    peak_flops_per_s: float | None

    @property
    def flops_per_s(self) -> float:
        """The rate reached."""
        return self.flops / max(self.time_ns, 1) * 1e9


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What one device did in the window.

    Attributes:
        products: by precision, what took longest first.
        uncounted_ns: time of kernels of products and attention whose operations are not known.
        elementwise_nbytes: read and written by elementwise operators.
        elementwise_ns: time of their kernels.
        elementwise_uncounted_ns: time of elementwise kernels whose bytes are not known.
        window_ns: the time of the window.
        rates: what the device can do at the most; None where its name tells nothing.
    """

    products: tuple[ProductRate, ...]
    uncounted_ns: int
    elementwise_nbytes: int
    elementwise_ns: int
    elementwise_uncounted_ns: int
    window_ns: int
    rates: DeviceRates | None

    @property
    def model_flops_utilization(self) -> float | None:
        """The part of the window that the counted operations would take at the peak, 0 to 1.

        None where less than half of the time of products was counted, or a peak is not known.
        """
        counted_ns = sum(each.time_ns for each in self.products)
        if not self.products or not self.window_ns or self.uncounted_ns > counted_ns:
            return None
        needed_s = 0.0
        for each in self.products:
            if each.peak_flops_per_s is None:
                return None
            needed_s += each.flops / each.peak_flops_per_s
        return needed_s / (self.window_ns / 1e9)

    @property
    def nbytes_per_s(self) -> float | None:
        """The bandwidth that elementwise operators reached; None where none was counted."""
        return self.elementwise_nbytes / self.elementwise_ns * 1e9 if self.elementwise_ns else None


class OpWork:
    """Operators whose operations are counted, and which kernels they launched.

    Attributes:
        rows: tree rows of the operators; none holds another.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        rows = trace.rows_named(*COUNTED_OPS)
        rows = rows[rows < trace.tree_count]
        inside = np.append(rows[1:], trace.tree_count) < trace.subtree_end[rows]
        self.rows: Rows = rows[~inside]

    @cached_property
    def flops(self) -> Rows:
        """Operations of each op; 0 where its inputs do not tell."""
        trace = self._trace
        return trace.by_call(self.rows, lambda name, given: op_flops(name, trace.inputs, given))

    @cached_property
    def is_empty(self) -> NDArray[np.bool_]:
        """Whether each op has no operations as its inputs have no elements."""
        trace = self._trace
        empty = trace.by_call(
            self.rows, lambda name, given: int(is_empty_op(name, trace.inputs, given))
        )
        return empty > 0

    @cached_property
    def dtypes(self) -> list[str]:
        """What each op multiplies, as `Input type` has it; "" where that is not recorded."""
        known, trace = Interner(), self._trace
        codes = trace.by_call(
            self.rows, lambda name, given: known[op_dtype(name, trace.inputs, given)]
        )
        names = list(known)
        return [names[code] for code in codes.tolist()]

    def op_of(self, kernels: Rows) -> Rows:
        """Return for each device row the index in `rows` of the op that it was launched in,
        or -1.
        """
        ops = self._trace.launching_ops(kernels)
        if not len(self.rows):
            return np.full(len(kernels), -1, np.int64)
        at = np.searchsorted(self.rows, ops, side="right") - 1
        inside = (at >= 0) & (ops < self._trace.subtree_end[self.rows[np.maximum(at, 0)]])
        return np.where(inside, at, -1)


def efficiency_of(trace: Trace, device: int, window: Window) -> Efficiency:
    """Return what a device did in the window, and how fast."""
    rows = trace.rows_of_device(device)
    rows = rows[trace.kind[rows] == EventKind.Kernel]
    rows = rows[window.time.contains(trace.start_ns[rows])]
    kinds = kinds_by_name(trace, rows)
    properties = trace.devices[device]
    rates = rates_of(properties.name)
    products, uncounted_ns = _products(trace, rows, kinds, properties, rates)
    elementwise = rows[kinds == CODE_OF[work_kinds.ELEMENTWISE]]
    nbytes, counted_ns = _elementwise(trace, elementwise)
    whole_ns = int(trace.duration_ns[elementwise].sum())
    return Efficiency(
        products, uncounted_ns, nbytes, counted_ns, whole_ns - counted_ns, window.time_ns, rates
    )


def path_of(
    dtype: str, on_matrix_cores: bool | None, device: DeviceProperties
) -> tuple[str, bool] | None:
    """In what a product of a dtype ran, and whether on matrix cores; None where nothing tells.

    Args:
        on_matrix_cores: by the names of its kernels; None where these do not tell.
    """
    precision, on_matrix = _PRECISION.get(dtype), on_matrix_cores
    if precision == "float32" and device.vendor == "nvidia":
        if device.compute is not None and device.compute < _FIRST_WITH_TF32:
            on_matrix = False
        precision = "tf32" if on_matrix else precision
    elif on_matrix is None and precision not in ("float64", "float32"):
        on_matrix = True  # all libraries use them for these
    return None if precision is None or on_matrix is None else (precision, on_matrix)


def _products(
    trace: Trace,
    kernels: Rows,
    kinds: NDArray[np.int8],
    device: DeviceProperties,
    rates: DeviceRates | None,
) -> tuple[tuple[ProductRate, ...], int]:
    """The products by precision, and the time of those that are not counted."""
    work, is_product = OpWork(trace), np.isin(kinds, _PRODUCTS)
    op = work.op_of(kernels)
    # A kernel with another name counts where a product launched it, but not what moves its inputs.
    takes_part = is_product | ((op >= 0) & (kinds == CODE_OF[work_kinds.OTHER]))
    kernels, kinds, op = kernels[takes_part], kinds[takes_part], op[takes_part]
    spent = trace.duration_ns[kernels]
    sums: dict[tuple[str, bool], list[int]] = {}
    counted_ns, count = 0, len(work.rows)
    time_ns = np.bincount(op[op >= 0], spent[op >= 0], count).astype(np.int64)
    on_matrix, on_ordinary = (
        np.bincount(op[np.isin(kinds, codes) & (op >= 0)], minlength=count) > 0
        for codes in (_ON_MATRIX_CORES, [CODE_OF[work_kinds.ORDINARY]])
    )
    is_known, dtypes = on_matrix | on_ordinary, work.dtypes
    for at in np.flatnonzero((time_ns > 0) & (work.flops > 0)).tolist():
        path = path_of(dtypes[at], bool(on_matrix[at]) if is_known[at] else None, device)
        if path is not None:
            each = sums.setdefault(path, [0, 0])
            each[0] += int(work.flops[at])
            each[1] += int(time_ns[at])
            counted_ns += int(time_ns[at])
    found = [
        ProductRate(*key, flops, ns, rates.peak(*key) if rates else None)
        for key, (flops, ns) in sums.items()
    ]
    found.sort(key=lambda each: -each.time_ns)
    return tuple(found), int(spent.sum()) - counted_ns


def _elementwise(trace: Trace, kernels: Rows) -> tuple[int, int]:
    """Bytes that elementwise operators moved, and the time of the kernels of those."""
    ops = trace.launching_ops(kernels)
    ops, kernels = ops[ops >= 0], kernels[ops >= 0]
    known = np.flatnonzero(np.bincount(ops))

    def nbytes(name: str, inputs_id: int) -> int:
        what = moved(name, trace.inputs, inputs_id) if is_elementwise(name) else None
        return what.nbytes if what is not None else -1

    of_op = trace.by_call(known, nbytes)
    is_counted = np.zeros(trace.tree_count, bool)
    is_counted[known[of_op >= 0]] = True
    return int(of_op[of_op >= 0].sum()), int(trace.duration_ns[kernels[is_counted[ops]]].sum())
