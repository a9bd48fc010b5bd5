"""Steps of optimizers: when they run, and what they update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidy.account import closures
from tidy.trace import EventKind, Intervals, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from ..python.op_names import aten
from .autograd import NODE, forward_links
from .hooks import ops_of_hooks
from .launches import below, holds, outermost_rows, tree_rows
from .walks import Dims, first_dims

STEP = "Optimizer.step#*"
# With these a script computes with tensors of its own, gradients and parameters among them.
_COMPUTES = aten(
    "add sub mul div pow neg sign sqrt abs square lerp addcmul addcdiv norm linalg_vector_norm sum "
    "mean dot copy_ set_ mul_ div_ addcmul_ sign_ pow_"
)
_IN_PLACE = (
    *aten("add_ sub_ addcdiv_ lerp_ _foreach_add_ _foreach_sub_ _foreach_lerp_"),
    "aten::_amp_foreach_non_finite_check_and_unscale_",
)


@kept
def optimizing(trace: Trace) -> Intervals:
    """Find when steps of optimizers run, without the closures that they call."""
    return trace.time_of(tree_rows(trace, STEP)) - closures(trace)


@kept
def ops_of_optimizers(trace: Trace) -> Rows:
    """Return all operators in the steps of optimizers, on whatever thread."""
    ops = trace.rows_of_kind(EventKind.TorchOp)
    ops = ops[ops < trace.tree_count]
    of_optimizers: Rows = ops[optimizing(trace).contains(trace.start_ns[ops])]
    return of_optimizers


class UpdatedTensors(NamedTuple):
    """The dims of tensors that are updated.

    Attributes:
        by_optimizers: what their operators take first, but for single numbers.
        by_others: the same of updates in place elsewhere, as scripts and gradient scalers do them,
            and all that hooks on gradients take.
        has_cut_lists: whether the shapes of a list of tensors were not recorded.
        empty_steps: how many steps of optimizers hold no operator.
    """

    by_optimizers: set[Dims]
    by_others: set[Dims]
    has_cut_lists: bool
    empty_steps: int


@kept
def updated_tensors(trace: Trace) -> UpdatedTensors:
    """Return the dims of the tensors that are updated in the recording."""
    own = ops_of_optimizers(trace)
    # A profiler that is told of the step by the optimizer ends a range in it: the tree tells less.
    begins = np.sort(trace.start_ns[tree_rows(trace, STEP)])
    seen = np.unique(np.searchsorted(begins, trace.start_ns[own], side="right"))
    others = _by_script(trace, np.setdiff1d(tree_rows(trace, *_IN_PLACE), own, True))
    is_cut, dims = False, list[set[Dims]]()
    for rows in (outermost_rows(trace, own), others):
        inputs = np.unique(trace.inputs_id[rows]).tolist()
        is_cut |= any(_is_cut(trace, each) for each in inputs)
        dims.append({each for one in inputs for each in first_dims(trace, one) if each})
    dims[1] |= _all_dims(trace, ops_of_hooks(trace))
    return UpdatedTensors(dims[0], dims[1], is_cut, len(begins) - len(seen))


@kept
def computed_with(trace: Trace) -> set[Dims]:
    """Return the dims of what operators take that the script calls, beside layers and optimizers.

    These are what elementwise operators and norms take that no other operator calls. What makes a
    node of the graph of a loss, as a residual does, takes no gradient and updates no parameter;
    nor does a residual in a module whose call runs no backward.
    """
    rows = outermost_rows(trace, tree_rows(trace, *sorted(_COMPUTES)))
    above = trace.parent[rows]
    is_inner = (above >= 0) & (trace.kind[above] == EventKind.TorchOp)
    own = _by_script(trace, np.setdiff1d(rows[~is_inner], ops_of_optimizers(trace), True))
    modules = outermost_rows(trace, np.sort(tree_rows(trace, "nn.Module: *")))
    of_layers = modules[~holds(trace, modules, tree_rows(trace, f"{NODE}*"))]
    return _all_dims(trace, own[~below(trace, of_layers).contains(own)])


def _by_script(trace: Trace, ops: Rows) -> Rows:
    """Return the operators that may update parameters or read gradients.

    The engine's do not, nor those that a backward goes through.
    """
    ops = ops[~below(trace, tree_rows(trace, f"{NODE}*")).contains(ops)]
    by_script: Rows = ops[~holds(trace, ops, forward_links(trace)[:, 1])]
    return by_script


def _all_dims(trace: Trace, ops: Rows) -> set[Dims]:
    """Return the dims of all tensors that operators take, but for those in lists."""
    shapes = (trace.inputs.shapes(each) for each in np.unique(trace.inputs_id[ops]).tolist())
    return {tuple(dims) for given in shapes for dims in given or () if is_dims(dims)}


def _is_cut(trace: Trace, inputs: int) -> bool:
    """Tell whether the first input is a list of more than 30, whose shapes are not recorded."""
    types, shapes = trace.inputs.dtypes(inputs), trace.inputs.shapes(inputs)
    return bool(types) and types[0] == "TensorList" and not (shapes and shapes[0])
