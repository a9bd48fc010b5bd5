"""TDY203: tensors cast to another dtype and back, and weights cast again in each step."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from tidy.trace import Capability, Event, EventKind, Rows, Trace, rows_of
from tidy.trace.inputs import Shape, is_dims

from ..base import Match, Matches, Pattern
from ..evidence.device import autograd, launches
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..evidence.python.op_names import aten
from ..examples import AT, Abstains, Fires, Quiet, launch, looped, on_gpu, steps, under
from ..option import EASY_WARNING, warning_share

# Between a cast and the cast back these change no value.
_VIEWS = aten(
    "view reshape _unsafe_view transpose permute t unsqueeze squeeze detach alias expand "
    "contiguous flatten to type_as"
)
# Ops that take a weight, and at which place among their inputs.
_WEIGHT_AT = {
    "aten::linear": 1, "aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1,
    "aten::embedding": 0,
}  # fmt: skip
# Floating-point types, by their number among the inputs of a cast (c10/core/ScalarType.h).
_DTYPES = {"5": "c10::Half", "6": "float", "7": "double", "15": "c10::BFloat16"}
_FLOATS = frozenset(_DTYPES.values())
# Operators after a cast among which one is looked for that takes its result.
_FARTHEST = 32


def _cast(old: str, new: str, dims: str = "64, 512") -> str:
    return launch(
        f"aten::to | {old}[{dims}] > aten::_to_copy | {old}[{dims}]"
        f" > aten::copy_ | {new}[{dims}], {old}[{dims}], =False",
        "copy_kernel 20us",
    )


_DOWN, _UP = _cast("float", "c10::Half"), _cast("c10::Half", "float")
_TANH = launch("aten::tanh | float[64, 512]", "tanh_kernel 5us")
_WEIGHT = _cast("float", "c10::Half", "512, 512")
_LINEAR = launch("aten::linear | c10::Half[64, 512], c10::Half[512, 512], -", "gemm 30us")
_AUTOCAST = "aten::linear | float[64, 512], float[512, 512]"
_TRAINED = _WEIGHT.replace("aten::to |", "aten::to seq=4 |", 1)
_ITS_GRADIENT = "ToCopyBackward0 seq=4/1\n"
_BACKWARD = "autograd::engine::evaluate_function: ToCopyBackward0\n"


class CastChurn(Pattern):
    """Values are cast to another dtype and back for nothing, or weights are cast in every step.

    What it does: It finds two things in two steps or more. One is a cast of a floating-point tensor
    right after the opposite cast of one of the same dims, with nothing but views between, if no op
    soon after uses the result of the first cast. The other is a cast of a weight right before the
    layer that uses it, if the run trains nothing or no gradient goes through the cast: then the
    weight is the same each time. Casts inside other ops are made by autocast and left out.
    Why it costs: Each cast reads and writes all of the tensor, and a cast to fewer bits and back
    loses precision.
    Example: `x = block(x.half()).float()` for each block, and `F.linear(x, weight.half())`:

        aten::to  half -> float  [64, 512]
        aten::to  float -> half  [64, 512]

    Instead: Keep one dtype between the layers, or leave it to autocast; cast frozen weights once,
    when the model is loaded (`model.half()`, `model.to(torch.bfloat16)`).
    Cannot see: Whether two tensors of the same dims are one. A cast that has computation before the
    cast back (a softmax or norm in float32) is meant, and not reported.
    """

    code = "TDY203"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "keep one dtype between layers; cast frozen weights once, at the start"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("back-and-forth", looped(_UP, "aten::view", _DOWN, lasts_us=100), events=4, at=AT),
        Fires("frozen-weight", looped(_WEIGHT, _LINEAR, count=3, lasts_us=100), events=3, at=AT),
        Quiet("computed-in-float32", on_gpu(steps(_UP, _TANH, _DOWN, _LINEAR, count=3))),
        Quiet("two-tensors", on_gpu(steps(_UP, _DOWN, _TANH, count=3))),
        Quiet("other-dims", on_gpu(steps(_UP, _WEIGHT, count=3))),
        Quiet("autocast", looped(under(_AUTOCAST, _WEIGHT, _LINEAR))),
        Quiet("trained-weight", on_gpu(steps(_WEIGHT, _LINEAR, _BACKWARD, count=3))),
        Quiet("checkpointed-weight", looped(_WEIGHT, _LINEAR, _TRAINED, _LINEAR, _ITS_GRADIENT)),
        Quiet("input", on_gpu(steps(_DOWN, _LINEAR, count=3))),
        Quiet("once", on_gpu(steps(_UP, _DOWN, count=1))),
        Abstains("no-shapes", on_gpu("aten::to", "aten::linear")),
    )

    def find(self, trace: Trace) -> Matches:
        casts = list(_casts(trace))
        trains = len(trace.rows_named("*ToCopyBackward0*")) > 0
        for message, chosen in (
            ("cast to another dtype and back, with nothing in between", _back_and_forth(casts)),
            ("a weight that does not change is cast in each step", _weights(casts, trains)),
        ):
            for events in loops.Loop(trace).parts(chosen, lambda op: op):
                yield Match(
                    events,
                    message=message,
                    cost=[row for op in events for row in launches.work_or_op(op)],
                    edit=edits.without_ops(trace, events, "without the casts", (0.0, 0.0)),
                )


class _Cast(NamedTuple):
    """A cast that Python asked for.

    Attributes:
        op: the `aten::to` or `aten::_to_copy`.
        before, after: the ops next to it on its thread that are more than views, None for none.
    """

    op: Event
    shape: Shape
    old: str
    new: str
    before: int
    after: int


def _casts(trace: Trace) -> Iterator[_Cast]:
    """The casts of floating-point tensors, with the ops around them on their thread."""
    inner, copying = (launches.tree_rows(trace, name) for name in ("aten::_to_copy", "aten::copy_"))
    is_cast = launches.has_name(trace, "aten::to", "aten::_to_copy", "aten::type_as")
    is_view = launches.has_name(trace, *_VIEWS)
    dtypes = cache(partial(_dtypes, trace))
    moves = trace.rows_of_kind(EventKind.Memcpy)
    moves = moves[~launches.has_name(trace, "*DtoD*")[trace.name_id[moves]]]
    for track in np.unique(trace.track_id[inner]).tolist():
        ops = launches.ops_in_no_op(trace, track)
        first = _first_in(trace, ops, inner)
        holds = (first >= 0) & is_cast[trace.name_id[ops]]
        computes = ~is_view[trace.name_id[ops]] | holds
        rows, first = ops[computes], first[computes]
        casts = np.flatnonzero(holds[computes])
        casts = casts[~launches.launches_any(trace, rows[casts], moves)]
        copies = _first_in(trace, first[casts], copying)
        calls = (np.where(x >= 0, trace.inputs_id[x], -1).tolist() for x in (first[casts], copies))
        for number, of_cast, of_copy in zip(casts.tolist(), *calls, strict=True):
            cast = dtypes(of_cast, of_copy)
            if cast is None:
                continue
            before = int(rows[number - 1]) if number else -1
            after = int(rows[number + 1]) if number + 1 < len(rows) else -1
            yield _Cast(trace.event(int(rows[number])), *cast, before, after)


def _first_in(trace: Trace, ops: Rows, rows: Rows) -> Rows:
    """Of each op the first of `rows` that is its own or below it, -1 where none is."""
    at = np.searchsorted(rows, ops)
    first = np.append(rows, trace.tree_count)[at]
    return np.where(first < trace.subtree_end[ops], first, -1)


def _dtypes(trace: Trace, of_cast: int, of_copy: int) -> tuple[Shape, str, str] | None:
    """Dims, old and new dtype of a cast between floating-point types; None for other copies.

    Args:
        of_cast, of_copy: the inputs of its `aten::_to_copy`, and of the `aten::copy_` in that.
    """
    inputs = trace.inputs
    shapes, dtypes, concrete = (
        each(of_cast) for each in (inputs.shapes, inputs.dtypes, inputs.concrete)
    )
    if not shapes or not dtypes:
        return None
    shape, old = shapes[0], dtypes[0]
    new = _DTYPES.get(concrete[1]) if len(concrete) > 1 else None
    if new is None:  # older releases do not record it, but the types of the copy
        copied = inputs.dtypes(of_copy)
        new = copied[0] if copied else old
    if new == old or {new, old} - _FLOATS or not is_dims(shape) or not shape:
        return None
    return shape, old, new


def _back_and_forth(casts: Sequence[_Cast]) -> list[Event]:
    """Casts that undo the cast right before them, and those that they undo."""
    by_row = {cast.op.row: cast for cast in casts}
    found: dict[int, Event] = {}
    for cast in casts:
        first = by_row.get(cast.before)
        same = first is not None and sorted(first.shape) == sorted(cast.shape)
        undoes = first is not None and (first.old, first.new) == (cast.new, cast.old)
        if first is not None and same and undoes and not _is_used_later(first, cast, by_row):
            found[first.op.row], found[cast.op.row] = first.op, cast.op
    return [found[row] for row in sorted(found)]


def _is_used_later(first: _Cast, second: _Cast, casts: Mapping[int, _Cast]) -> bool:
    """Tell whether an op takes what may be the result of the first cast, after the second.

    Then these may be casts of two tensors. From the next cast that gives another like it nothing
    can be told.
    """
    for op in islice(launches.ops_after(second.op), _FARTHEST):
        taken = zip(op.input_shapes, op.input_dtypes, strict=False)
        dims = sorted(first.shape)
        if any(dtype == first.new and sorted(shape) == dims for shape, dtype in taken):
            return True
        cast = casts.get(op.row)
        if cast is not None and cast.new == first.new and sorted(cast.shape) == dims:
            return False
    return False


def _weights(casts: Sequence[_Cast], trains: bool) -> list[Event]:
    """Casts of a weight right before the layer that takes it, through which no gradient goes."""
    found = list[Event]()
    with_gradient = _with_gradient(casts) if trains and casts else frozenset[int]()
    trained = set[Hashable]()  # a checkpoint runs the same line without a gradient first
    for cast in casts:
        layer = cast.op.trace.event(cast.after) if cast.after >= 0 else None
        at = _WEIGHT_AT.get(layer.name) if layer is not None else None
        if layer is None or at is None:
            continue
        shapes, dtypes = layer.input_shapes, layer.input_dtypes
        takes = len(shapes) > 1 and shapes[at] == cast.shape and dtypes[at] == cast.new
        if takes and cast.op.row in with_gradient:
            trained.add(places.place_of(cast.op))
        elif takes and shapes[1 - at] != cast.shape:
            found.append(cast.op)
    return [op for op in found if places.place_of(op) not in trained]


def _with_gradient(casts: Sequence[_Cast]) -> frozenset[int]:
    """Rows of casts that a backward goes through; of all where the links were not recorded."""
    trace = casts[0].op.trace
    backward, forward = autograd.forward_links(trace).T
    of_casts = launches.has_name(trace, "*ToCopyBackward0*")[trace.name_id[backward]]
    rows, linked = rows_of(cast.op for cast in casts), forward[of_casts]
    if not len(linked):
        return frozenset(rows.tolist())
    inside = np.searchsorted(linked, trace.subtree_end[rows]) > np.searchsorted(linked, rows)
    return frozenset(rows[inside].tolist())
