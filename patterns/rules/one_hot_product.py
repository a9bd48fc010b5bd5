"""TDY415: a one-hot tensor that a matrix is multiplied with, to look up its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tidy.finding import FixPlace, NotChecked, Obstacle
from tidy.savings import Edit
from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.autograd import backward_of
from ..evidence.fixes import edits
from ..evidence.python import places
from ..evidence.python.op_names import VIEWS, aten
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import EASY_WARNING, Option, warning_share

_ONE_HOT, _SCATTER = "aten::one_hot", "aten::scatter_"
_LONG = frozenset({"long int", "long"})
_ZEROS = aten("zeros zeros_like new_zeros zero_")
_MOST_VIEWS = 4  # of an index, as `index[:, None]`
_CASTS = aten("to _to_copy type_as contiguous clone")
_BETWEEN = _CASTS | VIEWS
# Where each product has its two factors, and which dim of the second one is summed over.
_PRODUCTS = {
    "aten::matmul": (0, 1, 0), "aten::mm": (0, 1, 0), "aten::linear": (0, 1, 1),
    "aten::addmm": (1, 2, 0),
}  # fmt: skip
# What stays of `classes` numbers for each row: with backward, 64 columns and one thread 0.38 where
# there were 64 classes, 0.24 where there were 200, and 0.03 where there were 2,000.
_LEFT_AT_BEST, _LEFT_AT_WORST = (0.02, 8), (0.15, 24)

_CLASSES_UNKNOWN = NotChecked(
    "the trace does not say how many classes one-hot tensors have",
    "record shapes with PyTorch 2.1 or newer",
)

_MADE = "aten::one_hot 90us | long[32], =512\naten::to 90us | long[32, 512]\n"
_SCATTERED = "aten::zeros\naten::unsqueeze\naten::scatter_ | float[32, 512], =1, long[32, 1], =1\n"
_PRODUCT = "aten::matmul 90us | float[32, 512], float[512, 16]\n"
_TRAINED = _PRODUCT.replace("90us", "seq=4") + under(
    "autograd::engine::evaluate_function: MmBackward0",
    under("MmBackward0 seq=4/1", "aten::mm 90us | {}"),
)


class OneHotProduct(Pattern):
    """A matrix is multiplied with a one-hot tensor, which looks up its rows.

    What it does: It finds `F.one_hot`, or `scatter_` of one number into zeros, with nothing but
    casts and views between it and a product of the same sizes with a matrix that has a row for each
    of 64 classes or more. Where a backward computes a gradient of the factor it is no one-hot one.
    Why it costs: A row of zeros is written, cast, read and multiplied for each index, where an
    embedding copies one row. With 2,000 classes that took 34 times as long.
    Example: `F.one_hot(words, 2000).float() @ weight`, recorded as

        aten::one_hot  aten::to (512, 2000)  aten::matmul (512, 2000) and (2000, 64)

    Instead: Look rows up: `F.embedding(words, weight)` or `weight[words]`; `nn.Embedding` in place
    of an `nn.Linear` of one-hot tensors.
    Cannot see: It needs input shapes. It misses one-hot tensors that other operators use before the
    product, that data sets make, that recurrent layers take, or that `F.one_hot` makes without a
    number of classes, and sums of rows by class (`one_hot.T @ x`; there is `index_add_`).
    """

    code = "TDY415"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "look rows up: F.embedding(index, weight); nn.Embedding in place of nn.Linear"
    warning_from = warning_share(EASY_WARNING)
    fewest_classes = Option(64, "with fewer a product is about as fast as a lookup", least=2)
    examples = (
        Fires("one-hot", steps(under(FRAME, _MADE + _PRODUCT)), events=3, at=AT),
        Fires(
            "scattered",
            steps(under(FRAME, _SCATTERED + _PRODUCT)),
            events=3,
            at=AT,
        ),
        Fires(
            "a-linear-layer",
            steps(
                under(FRAME, _MADE),
                under("model.py(4): forward", "aten::linear | float[32, 512], float[16, 512]"),
            ),
            events=3,
            at="model.py:4",
        ),
        Fires(
            "with-the-matrix-trained",
            steps(under(FRAME, _MADE + _TRAINED.format("float[512, 32], float[32, 16]"))),
            events=3,
            at=AT,
        ),
        Quiet("weights", steps(_MADE + _TRAINED.format("float[32, 16], float[16, 512]"))),
        Quiet("few-classes", steps((_MADE + _PRODUCT).replace("512", "63"))),
        Quiet("of-other-sizes", steps(_MADE + _PRODUCT.replace("[32,", "[48,"))),
        Quiet("smoothed", steps(_MADE + "aten::mul | float[32, 512]\n" + _PRODUCT)),
        Quiet(
            "labels-before-a-layer",
            steps(_MADE.replace("long[32, 512]", "float[32, 512]"), _PRODUCT),
        ),
        Quiet("labels", steps(_MADE + "aten::mul | float[32, 512], float[32, 512]\n")),
        Quiet("many-numbers", steps(_SCATTERED.replace("1], =1", "1], float[32, 1]") + _PRODUCT)),
        Quiet("into-other-numbers", steps(_SCATTERED.replace("zeros", "eye") + _PRODUCT)),
        Abstains("no-numbers", steps((_MADE + _PRODUCT).replace(", =512", ""))),
        Abstains("no-shapes", steps("aten::one_hot\naten::to\naten::matmul\n")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        made = trace.rows_named(_ONE_HOT)
        inputs = np.unique(trace.inputs_id[made]).tolist()
        known = not inputs or any(len(trace.inputs.concrete(each)) > 1 for each in inputs)
        return None if known else _CLASSES_UNKNOWN

    def find(self, trace: Trace) -> Matches:
        rows = launches.tree_rows(trace, _ONE_HOT, _SCATTER)
        found = [each for each in _products(trace, rows) if each.classes >= self.fewest_classes]

        def product_of(each: _LookupByProduct) -> Event:
            return each.product

        def place(each: _LookupByProduct) -> tuple[Location | None, int]:
            return each.product.location, each.classes

        for same in places.parts(found, place, product_of):
            ops = np.concatenate([each.ops for each in same])
            backward = backward_of(trace, np.array([each.product.row for each in same]))
            time = trace.time_of(np.concatenate([ops, backward]))
            yield Match(
                list(map(product_of, same)),
                f"a matrix is multiplied with one-hot tensors of {same[0].classes:,} classes",
                time,
                _as_lookups(trace, same, np.concatenate([ops, backward])),
                fix_place=_made_at(same[0]),
            )


@dataclass(frozen=True, slots=True)
class _LookupByProduct:
    """A product with a one-hot tensor.

    Attributes:
        ops: what makes the tensor, casts it and multiplies it, by start.
        classes: the length of its rows.
    """

    ops: Rows
    product: Event
    classes: int


def _products(trace: Trace, made: Rows) -> Iterator[_LookupByProduct]:
    for maker in trace.events(launches.outermost_rows(trace, np.sort(made))):
        dims = _dims_of(maker)
        if not dims:
            continue
        is_float, ops = maker.name == _SCATTER, [maker.row]
        for op in launches.ops_after(maker):
            if op.name in _BETWEEN:
                if op.name in _CASTS and op.input_shapes[:1] == (dims,):
                    ops.append(op.row)
                    is_float = is_float or not _LONG.isdisjoint(op.input_dtypes[:1])
                continue
            is_lookup = is_float and op.name in _PRODUCTS and _looks_up(op, dims)
            if is_lookup and not _has_gradient(trace, op, dims):
                yield _LookupByProduct(np.array([*ops, op.row]), op, dims[-1])
            break


def _dims_of(maker: Event) -> tuple[int, ...]:
    """Return the dims of the one-hot tensor that an operator makes; () if it makes none."""
    shapes, values = maker.input_shapes, maker.concrete_inputs
    if maker.name == _ONE_HOT:
        classes = values[1] if len(values) > 1 else None
        known = bool(shapes) and is_dims(shapes[0]) and str(classes).isdecimal()
        return (*shapes[0], int(str(classes))) if known else ()
    # One number is written at an index of each row of the last dimension.
    if len(shapes) < 4 or shapes[3] or not is_dims(shapes[0]) or not shapes[0]:
        return ()
    is_row_by_row = shapes[2] == (*shapes[0][:-1], 1)
    return shapes[0] if is_row_by_row and _is_into_zeros(maker) else ()


def _is_into_zeros(maker: Event) -> bool:
    """Tell whether the operator before, but for views of the index, made zeros."""
    ops = launches.ops_in_no_op(maker.trace, int(maker.trace.track_id[maker.row]))
    at = int(np.searchsorted(ops, maker.row))
    names = maker.trace.name_id[ops[max(at - _MOST_VIEWS, 0) : at][::-1]].tolist()
    before = (maker.trace.names[each] for each in names)
    return next((name for name in before if name not in VIEWS), "") in _ZEROS


def _looks_up(op: Event, dims: tuple[int, ...]) -> bool:
    """Tell whether a product takes such a tensor and a matrix with a row for each class."""
    first, second, summed = _PRODUCTS[op.name]
    shapes = op.input_shapes
    if len(shapes) <= second or not is_dims(shapes[first]) or not is_dims(shapes[second]):
        return False
    factor, matrix = shapes[first], shapes[second]
    is_factor = factor[-1:] == dims[-1:] and prod(factor) == prod(dims)
    return is_factor and len(matrix) == 2 and matrix[summed] == dims[-1]


def _has_gradient(trace: Trace, product: Event, dims: tuple[int, ...]) -> bool:
    """Tell whether a backward computes a gradient of the factor with these dims."""
    given = {prod(dims[:-1]), dims[-1]}
    for row in backward_of(trace, np.array([product.row])).tolist():
        inside = slice(row, int(trace.subtree_end[row]))
        is_product = launches.has_name(trace, "aten::mm")[trace.name_id[inside]]
        for op in trace.events((row + np.flatnonzero(is_product)).tolist()):
            first, second = (*op.input_shapes, (), ())[:2]
            if is_dims(first) and is_dims(second) and {*first[:1], *second[-1:]} == given:
                return True
    return False


def _made_at(product: _LookupByProduct) -> FixPlace | None:
    """Return where the one-hot tensor is made, if that is another line."""
    made = product.product.trace.location(int(product.ops[0]))
    is_other = made is not None and made != product.product.location
    return FixPlace("the one-hot tensor is made", made) if made and is_other else None


def _as_lookups(trace: Trace, products: Sequence[_LookupByProduct], rows: Rows) -> Edit:
    """A row of the matrix stays for each row of the one-hot tensor."""
    classes = min(each.classes for each in products)
    best, worst = (
        min(share + numbers / classes, 1.0) for share, numbers in (_LEFT_AT_BEST, _LEFT_AT_WORST)
    )
    return edits.without_ops(trace, list(trace.events(rows.tolist())), "lookups", (best, worst))
