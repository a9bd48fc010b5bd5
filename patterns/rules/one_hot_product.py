"""TDY415: a one-hot tensor that a matrix is multiplied with, to look up its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tidy.finding import FixPlace, NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Location, Rows, Trace
from tidy.trace.inputs import Shape, is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.autograd import NODE, backward_of
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.op_names import VIEWS, aten
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import EASY_WARNING, Option, warning_share

_ONE_HOT, _SCATTER = "aten::one_hot", "aten::scatter_"
_LONG = frozenset({"long int", "long"})
_ZEROS = aten("zeros zeros_like new_zeros zero_")
_ONE = frozenset({"1", "1.", "1.0", "True"})
_MOST_VIEWS = 4  # of an index, as `index[:, None]`
_MOST_DIGITS = 12  # of a number of classes: a damaged file may hold any number
_CASTS = aten("to _to_copy type_as contiguous clone")
_BETWEEN = _CASTS | VIEWS
_TURNED = aten("t transpose permute numpy_T")  # a product with that sums rows by class
_BY_CLASS = "sum rows by class: zeros(classes, x.shape[1]).index_add_(0, index, x)"
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
_SCATTERED = (
    "aten::zeros | =[32, 512]\naten::unsqueeze\n"
    "aten::scatter_ | float[32, 512], =1, long[32, 1], =1\n"
)
_PRODUCT = "aten::matmul 90us | float[32, 512], float[512, 16]\n"
_SUMS = "aten::matmul 90us | float[512, 32], float[32, 16]\n"
_SUMMED = "aten::sum | float[32, 512]\n"
_TRAINED = _PRODUCT.replace("90us", "seq=4") + under(
    "autograd::engine::evaluate_function: MmBackward0",
    under("MmBackward0 seq=4/1", "aten::mm 90us | {}"),
)


class OneHotProduct(Pattern):
    """A matrix is multiplied with a one-hot tensor, which looks up its rows, or sums them by class.

    What it does: It finds `F.one_hot`, or `scatter_` of one number into zeros, with nothing but
    casts and views between it and a product of the same sizes with a matrix that has a row for each
    of 64 classes or more; also with one that has a row for each index, if the one-hot tensor is
    turned (`one_hot.T @ x`), which sums rows by class. Where a backward computes a gradient of the
    factor, or a later operator of the forward takes two tensors of these sizes, as a loss does, it
    may be no one-hot one. It is info, and the product alone is counted, where such an operator
    takes one.
    Why it costs: A row of zeros is written, cast, read and multiplied for each index, where an
    embedding copies one row. With 2,000 classes that took 34 times as long.
    Example: `F.one_hot(words, 2000).float() @ weight`, recorded as

        aten::one_hot  aten::to (512, 2000)  aten::matmul (512, 2000) and (2000, 64)

    Instead: Look rows up: `F.embedding(words, weight)` or `weight[words]`. In place of an
    `nn.Linear` of one-hot tensors an `nn.Embedding` has its weight transposed; its bias is added.
    Sum rows by class with `x.new_zeros(classes, x.shape[1]).index_add_(0, index, x)`.
    Cannot see: It needs input shapes. It misses one-hot tensors that other operators use before the
    product, that data sets make, that recurrent layers take, or that `F.one_hot` makes without a
    number of classes.
    """

    code = "TDY415"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "look rows up: F.embedding(index, weight); for nn.Linear of weight.t(), plus bias"
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
        Fires(
            "as-many-rows-as-columns",
            steps(
                under(
                    FRAME,
                    _MADE,
                    "aten::linear seq=4 | float[32, 512], float[32, 512]",
                    under(
                        "autograd::engine::evaluate_function: AddmmBackward0",
                        under(
                            "AddmmBackward0 seq=4/1",
                            "aten::t | float[32, 32]",
                            "aten::mm 90us | float[32, 32], float[32, 512]",
                        ),
                    ),
                )
            ),
            events=3,
            at=AT,
        ),
        Fires("used-again", steps(under(FRAME, _MADE + _PRODUCT + _SUMMED)), events=3, at=AT),
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
        Quiet("other-than-one", steps(_SCATTERED.replace("1], =1", "1], =-inf") + _PRODUCT)),
        Quiet("along-another-dimension", steps(_SCATTERED.replace("=1, l", "=0, l") + _PRODUCT)),
        Quiet("other-zeros", steps(_SCATTERED.replace("=[32,", "=[48,") + _PRODUCT)),
        Quiet(
            "labels-in-a-loss",
            steps(_MADE + _PRODUCT + "aten::mse_loss | float[32, 512], float[32, 512]\n"),
        ),
        Fires(
            "sums-by-class",
            steps(under(FRAME, _MADE + "aten::t | float[32, 512]\n" + _SUMS)),
            events=3,
            at=AT,
        ),
        Fires(
            "sums-of-what-is-computed-then",
            steps(_MADE, "aten::t | float[32, 512]\naten::add | float[32, 16]\n" + _SUMS),
            events=3,
        ),
        Quiet(
            "turned-and-smoothed",
            steps(_MADE, "aten::t | float[32, 512]\naten::add | float[512, 32]\n" + _SUMS),
        ),
        Quiet(
            "turned-before-another-matrix",
            steps(_MADE + "aten::t | float[32, 512]\n" + _SUMS.replace("[32,", "[48,")),
        ),
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

        def place(each: _LookupByProduct) -> tuple[Location | None, int, bool, bool]:
            return each.product.location, each.classes, each.is_used_again, each.is_turned

        for same in places.parts(_that_may_be(trace, found), place, product_of):
            backward = backward_of(trace, np.array([each.product.row for each in same]))
            rows = np.concatenate([*(each.replaced for each in same), backward])
            yield Match(
                list(map(product_of, same)),
                f"a matrix is multiplied with one-hot tensors of {same[0].classes:,} classes",
                trace.time_of(rows),
                _as_lookups(trace, same, rows),
                at_most=Severity.INFO if same[0].is_used_again else None,
                fix_place=_made_at(same[0]),
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        return _BY_CLASS if _sums_by_class(events[0]) else self.fix


@dataclass(frozen=True, slots=True)
class _LookupByProduct:
    """A product with a one-hot tensor.

    Attributes:
        ops: what makes the tensor, casts and views it, and multiplies it, by start.
        product: the last of them.
        dims: of the tensor.
        is_turned: whether it sums rows by class.
        is_used_again: whether a later operator may take it, too, so that it has to be made.
    """

    ops: Rows
    product: Event
    dims: tuple[int, ...]
    is_turned: bool
    is_used_again: bool = False

    @property
    def classes(self) -> int:
        """Return the length of its rows."""
        return self.dims[-1]

    @property
    def replaced(self) -> Rows:
        """Return the operators that a lookup replaces."""
        return self.ops[-1:] if self.is_used_again else self.ops


def _products(trace: Trace, made: Rows) -> Iterator[_LookupByProduct]:
    for maker in trace.events(launches.outermost_rows(trace, np.sort(made))):
        dims = _dims_of(maker)
        if not dims:
            continue
        is_float, is_turned, ops = maker.name == _SCATTER, False, [maker.row]
        for op in launches.ops_after(maker):
            takes_it = _is_reshaped(op.input_shapes[:1], dims[::-1] if is_turned else dims)
            if op.name in _BETWEEN:
                if takes_it and op.name in _TURNED:
                    if is_turned or len(dims) != 2:
                        break
                    is_turned = True
                if takes_it:
                    ops.append(op.row)
                    is_cast = op.name in _CASTS and not _LONG.isdisjoint(op.input_dtypes[:1])
                    is_float = is_float or is_cast
                continue
            is_lookup = is_float and op.name in _PRODUCTS and _looks_up(op, dims, is_turned)
            if is_turned and not {dims, dims[::-1]} & {*op.input_shapes}:
                continue  # what is summed may be computed after the tensor was turned
            if is_lookup and not _has_gradient(trace, op, dims):
                yield _LookupByProduct(np.array([*ops, op.row]), op, dims, is_turned)
            break


def _that_may_be(trace: Trace, found: Sequence[_LookupByProduct]) -> list[_LookupByProduct]:
    """Leave out products with what may be another tensor, and say which tensors are used again."""
    own = np.concatenate([each.ops for each in found]) if found else np.empty(0, np.int64)
    nodes = np.sort(trace.start_ns[launches.tree_rows(trace, f"{NODE}*")])
    left = list[_LookupByProduct]()
    ends_ns = dict[tuple[int, Location | None], int]()  # by thread and line: the next round there
    for each in reversed(found):
        maker = trace.event(int(each.ops[0]))
        line = int(trace.track_id[maker.row]), maker.location
        next_node = nodes[np.searchsorted(nodes, each.product.end_ns) :][:1].tolist()
        step = int(loops.step_of(trace, each.product.start_ns))
        step_end = [trace.steps[step].end_ns] if step >= 0 else []
        next_round = [ends_ns[line]] if line in ends_ns else []
        end_ns = min([*next_node, *step_end, *next_round], default=None)
        ends_ns[line] = maker.start_ns
        taken = _taken_later(each, own, end_ns)
        if taken < 2:
            left.append(replace(each, is_used_again=taken == 1))
    return left[::-1]


def _taken_later(each: _LookupByProduct, own: Rows, end_ns: int | None) -> int:
    """Return how many tensors of such dims one operator takes at the most after the product.

    Args:
        own: operators that do not count.
        end_ns: when the search ends; None for the end of the recording.
    """
    trace, product = each.product.trace, each.product
    ops = launches.ops_in_no_op(trace, int(trace.track_id[product.row]))
    ops = ops[np.searchsorted(ops, product.row, side="right") :]
    if end_ns is not None:
        ops = ops[: np.searchsorted(trace.start_ns[ops], end_ns)]
    ops = ops[~np.isin(ops, own)]
    kinds = map(trace.inputs.shapes, np.unique(trace.inputs_id[ops]).tolist())
    sizes = {each.dims, product.input_shapes[_PRODUCTS[product.name][0]]}
    return max((sum(map(shapes.count, sizes)) for shapes in kinds), default=0)


def _dims_of(maker: Event) -> tuple[int, ...]:
    """Return the dims of the one-hot tensor that an operator makes; () if it makes none."""
    shapes, values = maker.input_shapes, maker.concrete_inputs
    if maker.name == _ONE_HOT:
        classes = values[1] if len(values) > 1 else None
        known = bool(shapes) and is_dims(shapes[0]) and str(classes).isdecimal()
        known = known and len(str(classes)) <= _MOST_DIGITS
        return (*shapes[0], int(str(classes))) if known else ()
    # One is written at an index of each row of the last dimension.
    if len(shapes) < 4 or len(values) < 4 or not is_dims(shapes[0]) or not shapes[0]:
        return ()
    dims = shapes[0]
    is_row_by_row = shapes[2] == (*dims[:-1], 1) and str(values[1]) in ("-1", str(len(dims) - 1))
    is_one = shapes[3] == () and str(values[3]) in _ONE
    return dims if is_row_by_row and is_one and _is_into_zeros(maker, dims) else ()


def _is_into_zeros(maker: Event, dims: tuple[int, ...]) -> bool:
    """Tell whether the operator before, but for views of the index, made zeros of these dims."""
    trace = maker.trace
    ops = launches.ops_in_no_op(trace, int(trace.track_id[maker.row]))
    at = int(np.searchsorted(ops, maker.row))
    before = trace.events(ops[max(at - _MOST_VIEWS, 0) : at][::-1].tolist())
    made = next((each for each in before if each.name not in VIEWS), None)
    if made is None or made.name not in _ZEROS:
        return False
    if made.name in ("aten::zeros_like", "aten::zero_"):
        return made.input_shapes[:1] == (dims,)
    # The sizes are one list, or several numbers.
    values = [str(each) for each in made.concrete_inputs if each != ""]
    return values[:1] == [str(list(dims))] or values[: len(dims)] == list(map(str, dims))


def _is_reshaped(shapes: Shape, dims: tuple[int, ...]) -> bool:
    """Tell whether the first of these shapes has such rows, and as many of them."""
    shape = shapes[0] if shapes else ()
    return is_dims(shape) and shape[-1:] == dims[-1:] and prod(shape) == prod(dims)


def _looks_up(op: Event, dims: tuple[int, ...], is_turned: bool) -> bool:
    """Tell whether a product takes such a tensor and a matrix with a row for each class, or a
    turned one and a matrix with a row for each index.
    """
    dims = dims[::-1] if is_turned else dims
    first, second, summed = _PRODUCTS[op.name]
    shapes = op.input_shapes
    if len(shapes) <= second or not is_dims(shapes[first]) or not is_dims(shapes[second]):
        return False
    matrix = shapes[second]
    is_factor = _is_reshaped(shapes[first:], dims)
    return is_factor and len(matrix) == 2 and matrix[summed] == dims[-1]


def _sums_by_class(product: Event) -> bool:
    """Tell whether the first factor of a product was turned just before."""
    turned = product.input_shapes[_PRODUCTS[product.name][0]][::-1]
    ops = launches.ops_in_no_op(product.trace, int(product.trace.track_id[product.row]))
    at = int(np.searchsorted(ops, product.row))
    before = product.trace.events(ops[max(at - _MOST_VIEWS, 0) : at].tolist())
    return any(op.name in _TURNED and op.input_shapes[:1] == (turned,) for op in before)


def _has_gradient(trace: Trace, product: Event, dims: tuple[int, ...]) -> bool:
    """Tell whether a backward computes a gradient of the factor with these dims."""
    given = {prod(dims[:-1]), dims[-1]}
    for row in backward_of(trace, np.array([product.row])).tolist():
        inside = slice(row, int(trace.subtree_end[row]))
        is_asked = launches.has_name(trace, "aten::mm", "aten::t")[trace.name_id[inside]]
        turned: object = None
        for op in trace.events((row + np.flatnonzero(is_asked)).tolist()):
            first, second = (*op.input_shapes, (), ())[:2]
            if op.name == "aten::t":
                turned = first
                continue
            has_sizes = is_dims(first) and is_dims(second) and {*first[:1], *second[-1:]} == given
            # The matrix's gradient may be as large. It is no product with what was turned last.
            if has_sizes and turned in (None, second[::-1]):
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
