"""TDY416: products or distances of all pairs of rows, by a tensor with every pair's numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.inputs import Inputs, Shape, is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.autograd import backward_of, backward_ops
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import EASY_WARNING, Option, warning_share

_MUL, _SUB, _SUM = "aten::mul", "aten::sub", "aten::sum"
_TWO = frozenset({"2", "2."})
_FLOATS = frozenset({"float", "double"})
_HALVES = frozenset({"c10::Half", "c10::BFloat16"})
_NUMBERS = re.compile(r"-?\d{1,3}")
_MOST_KINDS = 50  # of dims of tensors between, a bit each
# What stays with a product: a part, and more if few rows meet many, if there are few elements, and
# if few of them become one, so that the result is nearly as large. Measured with and without a
# backward: on one thread of a CPU 0.01 to 0.55, on an H200 0.01 to 0.7 of products from a million
# elements and 0.02 to 0.9 of distances from three million.
_LEFT_AT_BEST, _LEFT_FOR_RESULTS = 0.01, 0.05
_LEFT_ON_CPU = (0.2, 4.0, 3e4, 1.0)
_LEFT_OF_PRODUCTS, _LEFT_OF_DISTANCES = (0.1, 1.0, 4e5, 2.0), (0.1, 1.0, 2e6, 2.0)

_FIX_OF_DISTANCES = "torch.cdist(a, b).pow(2), if its fewer digits will do"

_DIMS_UNKNOWN = NotChecked(
    "the trace does not say which dimensions are summed",
    "record shapes with PyTorch 2.1 or newer",
)

_MULTIPLIED = "aten::mul 90us | float[64, 1, 64], float[128, 64]\n"
_SUMMED = "aten::sum 90us | float[64, 128, 64], =[2], =False\n"
_FEW = (_MULTIPLIED + _SUMMED).replace("64, 1", "8, 1").replace("64, ", "8, ")
_SUBTRACTED = "aten::sub 90us | float[64, 1, 64], float[1, 128, 64], =1\n"
_SQUARED = "aten::pow 90us | float[64, 128, 64], =2\n"
_OTHER = "aten::amax 90us | float[64, 128, 64]\n"
_TRAINED = joined(
    _MULTIPLIED.replace("90us", "90us seq=4"),
    _SUMMED,
    under(
        "autograd::engine::evaluate_function: MulBackward0",
        under("MulBackward0 seq=4/1", "aten::mul 90us | float[64, 128, 64], float[128, 64]"),
    ),
)


def _on_gpu(rows: int) -> str:
    return on_gpu(
        launch(f"aten::mul | float[{rows}, 1, 64], float[{rows}, 64]", "elementwise 900us"),
        launch(f"aten::sum | float[{rows}, {rows}, 64], =[-1], =False", "reduce 900us"),
        WORK,
        frame=FRAME,
    )


class BroadcastPairs(Pattern):
    """Rows are multiplied or subtracted in all pairs by broadcasting, and summed right away.

    What it does: It finds `mul` of two tensors that are broadcast against each other, or `sub` and
    then a square, and right after it `sum` over dimensions that both have. What is between has
    131,072 elements or more and eight times as many as either tensor, both are floating point, and
    no other operator of the step takes a tensor of its dims later. Distances are info. What a
    compiler made is left alone, and on a GPU what is too small to gain surely.
    Why it costs: A number for each pair and each element is written and read again, and kept for
    the backward. A matrix product sums them where they are made: with 256 and 512 rows of 64
    numbers, backward included, it took a hundredth of the time on a CPU.
    Example: `(x.unsqueeze(1) * weight).sum(2)`, recorded as

        aten::mul (64, 1, 64) and (128, 64)  aten::sum (64, 128, 64) over dimension 2

    Instead: Multiply matrices: `x @ weight.T`, or `torch.einsum` where dimensions stand otherwise.
    For squares of distances `torch.cdist(a, b).pow(2)`, or `|a|**2 + |b|**2 - 2 * a @ b.T`. Both
    lose digits where rows are much closer to each other than to zero.
    Cannot see: It needs input shapes. It misses what is expanded or repeated first, other norms,
    means, and products of which something is computed before they are summed.
    """

    code = "TDY416"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "multiply matrices: a @ b.T, or torch.einsum"
    warning_from = warning_share(EASY_WARNING)
    fewest_elements = Option(1 << 17, "fewer are made and summed about as fast", least=1)
    fewest_rows = Option(8, "a product of fewer rows may be no faster", least=2)
    examples = (
        Fires("products", steps(under(FRAME, _MULTIPLIED, _SUMMED)), events=3, at=AT),
        Fires("of-a-layer", steps(under(FRAME, _TRAINED)), events=3, at=AT),
        Fires(
            "distances",
            steps(under(FRAME, _SUBTRACTED, _SQUARED, _SUMMED)),
            events=3,
            at=AT,
            severity=Severity.INFO,
        ),
        Fires("on-a-gpu", _on_gpu(512), at=AT),
        Quiet("too-small-for-a-gpu", _on_gpu(64)),
        Quiet("few", steps(_FEW)),
        Quiet("few-rows", steps((_MULTIPLIED + _SUMMED).replace("128", "4"))),
        Quiet("over-rows", steps(_MULTIPLIED + _SUMMED.replace("=[2]", "=[1]"))),
        Quiet("over-all", steps(_MULTIPLIED + _SUMMED.replace("[2]", "[0, 1, 2]"))),
        Quiet("scaled-only", steps((_MULTIPLIED + _SUMMED).replace("[128, 64]", "[128, 1]"))),
        Quiet("numbers", steps((_MULTIPLIED + _SUMMED).replace("float", "long"))),
        Quiet("two-dtypes", steps(_MULTIPLIED.replace("float[128", "double[128") + _SUMMED)),
        Quiet("three-factors", steps(_MULTIPLIED + _SQUARED.replace("=2", "=3") + _SUMMED)),
        Quiet("used-again", steps(_MULTIPLIED + _SUMMED + _OTHER)),
        Quiet("cubed", steps(_SUBTRACTED + _SQUARED.replace("=2", "=3") + _SUMMED)),
        Quiet("something-between", steps(_MULTIPLIED + _OTHER + _SUMMED)),
        Quiet("compiled", steps(under("Torch-Compiled Region: 0/0", _MULTIPLIED, _SUMMED))),
        Abstains("no-numbers", steps(_MULTIPLIED + _SUMMED.replace(", =[2], =False", ""))),
        Abstains("no-shapes", steps("aten::mul\naten::sum\n")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        summed = np.unique(trace.inputs_id[launches.tree_rows(trace, _SUM)]).tolist()
        is_open = summed and not any(len(trace.inputs.concrete(each)) > 1 for each in summed)
        return _DIMS_UNKNOWN if is_open and len(_rows(trace, self.fewest_elements)) else None

    def find(self, trace: Trace) -> Matches:
        found = [
            each
            for each in _pairs(trace, self.fewest_elements)
            if each.fewest_rows >= self.fewest_rows
        ]

        def first(each: _Pairs) -> Event:
            return each.first

        def place(each: _Pairs) -> tuple[Location | None, Shape, Shape, bool]:
            return each.first.location, each.dims, each.rows, each.are_distances

        for same in places.parts(_without_readers(trace, found), place, first):
            ops = np.unique(np.concatenate([each.ops for each in same]))
            rows = np.concatenate([ops, backward_of(trace, ops)])
            edit = _as_product(trace, same[0], rows)
            if edit is None:
                continue
            yield Match(
                list(map(first, same)),
                _said(same[0]),
                trace.time_of(launches.work_or_ops(trace, rows)),
                edit,
                Severity.INFO if same[0].are_distances else None,
                at_most=Severity.INFO if same[0].are_distances else None,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        return _FIX_OF_DISTANCES if events[0].name == _SUB else self.fix


class _Pairs(NamedTuple):
    """Rows that are multiplied or subtracted in all pairs, and summed.

    Attributes:
        ops: what broadcasts, for distances what squares, and what sums, by start.
        first: what broadcasts.
        dims: of the tensor between.
        rows: how many rows each of the two tensors has that the other has not.
        summed: how many elements of it become one.
        are_distances: whether the rows are subtracted.
    """

    ops: Rows
    first: Event
    dims: tuple[int, ...]
    rows: tuple[int, int]
    summed: int
    are_distances: bool

    @property
    def elements(self) -> int:
        """Return how many the tensor between has."""
        return prod(self.dims)

    @property
    def fewest_rows(self) -> int:
        """Return how many times it is larger than the larger of both tensors."""
        return min(self.rows)


def _rows(trace: Trace, fewest_elements: int) -> Rows:
    """Return what broadcasts two tensors to so many elements, outside of compiled code."""

    def elements(name: str, inputs_id: int) -> int:
        dims = _broadcast(trace.inputs.shapes(inputs_id))
        return prod(dims) if dims and _are_alike(trace.inputs, name, inputs_id) else 0

    rows = launches.tree_rows(trace, _MUL, _SUB)
    rows = rows[trace.by_call(rows, elements) >= fewest_elements]
    compiled = launches.below(trace, trace.rows_named(*launches.COMPILED))
    outside: Rows = rows[~compiled.contains(rows)]
    return outside


def _pairs(trace: Trace, fewest_elements: int) -> Iterator[_Pairs]:
    """Yield those with so many elements between, by start on each thread."""
    rows = _rows(trace, fewest_elements)
    for track in np.unique(trace.track_id[rows]).tolist():
        ops = launches.ops_in_no_op(trace, track)
        for at in np.flatnonzero(np.isin(ops, rows)).tolist():
            found = _pairs_at(trace, ops[at : at + 3])
            if found is not None:
                yield found


def _pairs_at(trace: Trace, ops: Rows) -> _Pairs | None:
    """Return the pairs that an operator makes if the one or two after it sum them."""
    first, *after = trace.events(ops)
    are_distances = first.name == _SUB
    shapes = first.input_shapes
    dims = _broadcast(shapes)
    if are_distances and after and _squares(after[0], dims):
        after = after[1:]
    elif are_distances:
        return None
    summed = _summed(after[0], dims) if after else frozenset()
    # A dimension that one of them lacks is as one of a single element.
    one, other = (_padded(each, len(dims)) for each in shapes[:2])
    if not summed or any(one[at] != other[at] for at in summed):
        return None
    # Products of so few bits may be slow on a CPU.
    is_half = not _HALVES.isdisjoint(first.input_dtypes[:1])
    if is_half and not trace.launch_work(ops[:1]).all():
        return None
    kept_dims = [at for at in range(len(dims)) if at not in summed]
    rows = (
        prod(dims[at] for at in kept_dims if other[at] == 1),
        prod(dims[at] for at in kept_dims if one[at] == 1),
    )
    own = ops[: 3 if are_distances else 2]
    return _Pairs(own, first, dims, rows, prod(dims[at] for at in summed), are_distances)


def _broadcast(shapes: Shape) -> tuple[int, ...]:
    """Return the dims of a result that is larger than both inputs; () if it is not known."""
    both = shapes[:2]
    if len(both) < 2 or not all(is_dims(each) and each and min(each) > 0 for each in both):
        return ()
    length = max(map(len, both))
    one, other = (_padded(each, length) for each in both)
    pairs = list(zip(one, other, strict=True))
    fits = all(a == b or 1 in (a, b) for a, b in pairs)
    dims = tuple(map(max, pairs))
    return dims if fits and dims not in (one, other) else ()


def _padded(dims: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (1,) * (length - len(dims)) + dims


def _are_alike(inputs: Inputs, name: str, inputs_id: int) -> bool:
    """Tell whether both inputs are of one dtype that products are computed in."""
    dtypes, values = inputs.dtypes(inputs_id)[:2], inputs.concrete(inputs_id)
    if name == _SUB and any(str(each) not in ("1", "1.", "") for each in values[2:3]):
        return False
    fits = _FLOATS if name == _SUB else _FLOATS | _HALVES
    return len(dtypes) == 2 and dtypes[0] == dtypes[1] and dtypes[0] in fits


def _squares(op: Event, dims: tuple[int, ...]) -> bool:
    """Tell whether an operator multiplies a tensor of these dims with itself."""
    if op.name == _MUL:
        return op.input_shapes[:2] == (dims, dims)
    if op.name == "aten::pow":
        values = op.concrete_inputs
        return op.input_shapes[:1] == (dims,) and len(values) > 1 and str(values[1]) in _TWO
    return op.name == "aten::square" and op.input_shapes[:1] == (dims,)


def _summed(op: Event, dims: tuple[int, ...]) -> frozenset[int]:
    """Return which dimensions of a tensor of these dims an operator sums; none if all, or if that
    is not known.
    """
    values = list(map(str, op.concrete_inputs))
    # Of a sum over all the second value is the dtype of the result.
    if op.name != _SUM or op.input_shapes[:1] != (dims,) or len(values) < 3 or any(values[3:]):
        return frozenset()
    listed = _NUMBERS.findall(values[1])
    known = [int(each) for each in listed if -len(dims) <= int(each) < len(dims)]
    found = frozenset(each % len(dims) for each in known)
    return found if len(found) == len(listed) < len(dims) else frozenset()


def _without_readers(trace: Trace, found: Sequence[_Pairs]) -> list[_Pairs]:
    """Leave out pairs if a later operator of the step may take the tensor between, too."""
    if not found:
        return []
    own = np.concatenate([each.ops for each in found])
    tracks = np.unique(trace.track_id[: trace.tree_count]).tolist()
    ops = np.concatenate([launches.ops_in_no_op(trace, each) for each in tracks])
    ops = ops[~np.isin(ops, np.append(own, backward_ops(trace)))]
    kinds = sorted({each.dims for each in found})

    def takes(_: str, inputs_id: int) -> int:
        """Return a bit for each kind of dims that an operator takes, or a list with such."""
        shapes = trace.inputs.shapes(inputs_id)
        return sum(1 << at for at, dims in enumerate(kinds[:_MOST_KINDS]) if _holds(shapes, dims))

    taken = trace.by_call(ops, takes)
    left = list[_Pairs]()
    for at, dims in enumerate(kinds[:_MOST_KINDS]):
        readers_ns = np.sort(trace.start_ns[ops[taken >> at & 1 == 1]])
        for each in found:
            if each.dims == dims and not _is_read(trace, each, readers_ns):
                left.append(each)
    return sorted(left, key=lambda each: int(each.ops[0]))


def _holds(shapes: Shape, dims: tuple[int, ...]) -> bool:
    return any(each == dims or (isinstance(each, tuple) and dims in each) for each in shapes)


def _is_read(trace: Trace, pairs: _Pairs, readers_ns: NDArray[np.int64]) -> bool:
    """Tell whether one of these times is between the pairs and the end of their step."""
    start_ns = pairs.first.start_ns
    step = int(loops.step_of(trace, start_ns))
    until_ns = trace.steps[step].end_ns if step >= 0 else np.iinfo(np.int64).max
    first, last = np.searchsorted(readers_ns, (start_ns, until_ns))
    return bool(last > first)


def _as_product(trace: Trace, pairs: _Pairs, rows: Rows) -> Edit | None:
    """Return the run with a product instead of these operators; None if it may be no shorter."""
    is_on_device = bool(trace.launch_work(pairs.ops).any())
    worst = _left_at_worst(pairs, is_on_device=is_on_device)
    if worst >= 1:
        return None
    left = _LEFT_AT_BEST + _LEFT_FOR_RESULTS / pairs.summed, worst
    ops = edits.without_ops(trace, trace.events(rows), "one product", left)
    if not is_on_device:
        return ops
    # Distances are as many launches, or more.
    host = {} if pairs.are_distances else ops.host
    return replace(ops, host=host, waits=(), left=(0.5, 1.0), work_left=left)


def _left_at_worst(pairs: _Pairs, *, is_on_device: bool) -> float:
    on_device = _LEFT_OF_DISTANCES if pairs.are_distances else _LEFT_OF_PRODUCTS
    base, by_rows, elements, by_summed = on_device if is_on_device else _LEFT_ON_CPU
    small = elements / pairs.elements
    return base + by_rows / pairs.fewest_rows + small + by_summed / pairs.summed


def _said(pairs: _Pairs) -> str:
    one, other = pairs.rows
    what = "distances" if pairs.are_distances else "products"
    sizes = "x".join(map(str, pairs.dims))
    return f"{what} of {one:,} by {other:,} rows are summed from a tensor of {sizes} for all pairs"
