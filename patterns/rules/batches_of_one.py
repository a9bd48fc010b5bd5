"""TDY108: batches of one, for a model that takes larger ones elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Severity
from tidy.trace import Capability, Event, Intervals, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.intervals import any_within

from ..base import Match, Matches, Pattern
from ..evidence.device import launches, updates
from ..evidence.device.autograd import NODE
from ..evidence.python import frames, places
from ..evidence.python.made_places import made_at
from ..evidence.python.op_names import PRODUCTS
from ..evidence.time import timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, Option, word_share

# Which input is the batch, where it is not the first.
_INPUT_AT = {"aten::addmm": 1, "aten::baddbmm": 1, "aten::embedding": 1}
_FEWEST_DIMS = 2  # of a batch
_TRAINS_IN_IT = (f"{NODE}*", updates.STEP)
_MOST = 0.9  # of the batches; the last one may be of any size

_CALL = "aten::linear 90us | float[{0}, 64], float[8, 64]\n"


def _loop(size: int, count: int, frame: str = FRAME) -> str:
    return under(frame, (f"{frames.FETCH_ALONE} 9us\n" + _CALL.format(size)) * count)


_TRAINS, _EVALUATES = _loop(32, 4, "train.py(30): fit"), _loop(1, 24)
_LEARNS = _EVALUATES.replace("float[8, 64]\n", "float[8, 64]\n  Optimizer.step#SGD.step\n")


class BatchesOfOne(Pattern):
    """A loop gives a model one sample at a time, and another loop gives it larger batches.

    What it does: For each loop over a loader it looks at the first product or convolution after
    each fetch. It reports a loop if the input of that has one row in twenty batches or more, the
    loop takes 5 % of the time and has no backward, and in another loop the input has eight rows or
    more of the same length.
    Why it costs: Each batch costs a call of every operator, a launch of every kernel and a pass
    through the loader, whatever its size. Without gradients a model has room for larger batches
    than in training.
    Example: `DataLoader(validation, batch_size=1)` beside batches of 32 in training, recorded as

        enumerate(DataLoader)#...   aten::conv2d | float[1, 3, 32, 32]       20 times or more
        enumerate(DataLoader)#...   aten::conv2d | float[32, 3, 32, 32]

    Instead: Give the loader `batch_size=` as in training, or twice that under `torch.no_grad()`.
    Cannot see: Whether all samples have one size: pictures of different sizes and texts without
    padding cannot be batched. So it is info.
    """

    code = "TDY108"
    severity = Severity.INFO
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "the trace does not tell how much longer a larger batch takes"
    fix = "make its loader with batch_size= as in training, or more"
    fewest_batches = Option(20, "fewer may be a look at some samples", least=2)
    larger_batch = Option(
        8, "in batches of so many rows calls are a small part of the time", least=2
    )
    worth_a_word = word_share(LARGE_INFO, "such batches")
    examples = (
        Fires("evaluation", steps(_TRAINS, _EVALUATES, count=1, lasts_us=None), at=AT),
        Quiet("few", steps(_TRAINS, _loop(1, 12), count=1, lasts_us=None)),
        Quiet("as-in-training", steps(_TRAINS, _loop(32, 24), count=1, lasts_us=None)),
        Quiet("nothing-larger", steps(_EVALUATES, count=1, lasts_us=None)),
        Quiet("other-rows", steps(_TRAINS.replace("64]", "32]"), _EVALUATES, count=1)),
        Quiet("trained-one-by-one", steps(_TRAINS, _LEARNS, count=1, lasts_us=None)),
        Abstains("no-shapes", "aten::linear"),
    )

    def find(self, trace: Trace) -> Matches:
        batches, trained = list(_batches(trace)), _training_ns(trace)
        larger = {each.kind for each in batches if each.rows >= self.larger_batch}
        for same in places.grouped(batches, lambda each: each.fetch.location):
            ones = [
                each
                for each in same
                if each.rows == 1 and each.kind in larger and not any_within(trained, *each.time_ns)
            ]
            if len(ones) < max(self.fewest_batches, _MOST * len(same)):
                continue
            for part in places.by_window(ones, lambda each: each.fetch):
                time = Intervals(*np.array([each.time_ns for each in part], np.int64).T)
                if timing.part_of_window(trace, time) >= self.worth_a_word:
                    what = f"{len(part)} batches of one are given to a model that takes larger ones"
                    made = made_at(trace, "loader", part[0].fetch.location)
                    yield Match([part[0].fetch], what, time, fix_place=made)


def _training_ns(trace: Trace) -> NDArray[np.int64]:
    """When nodes of a backward and steps of optimizers begin, ascending."""
    return np.sort(trace.start_ns[launches.tree_rows(trace, *_TRAINS_IN_IT)])


class _Batch(NamedTuple):
    """What happens from one fetch to the loop's next, or to the end of the last one's product.

    Attributes:
        kind: what a product of it and one of another loop share: its name and the length of a row.
        rows: of the product's first input.
    """

    fetch: Event
    time_ns: tuple[int, int]
    kind: tuple[str, tuple[int, ...]]
    rows: int


def _batches(trace: Trace) -> Iterator[_Batch]:
    """Each batch of a loader after which a product runs on the thread that fetched it."""
    fetches = launches.tree_rows(trace, frames.FETCH)
    is_product = launches.has_name(trace, *PRODUCTS)
    for track in np.flatnonzero(np.bincount(trace.track_id[fetches])).tolist():
        own = fetches[trace.track_id[fetches] == track]
        ops = launches.ops_in_no_op(trace, track)
        products = ops[is_product[trace.name_id[ops]]]
        first = np.searchsorted(products, trace.subtree_end[own])
        for at, row in enumerate(own.tolist()):
            until = int(own[at + 1]) if at + 1 < len(own) else trace.tree_count
            if first[at] == len(products) or products[first[at]] >= until:
                continue
            product = trace.event(int(products[first[at]]))
            shapes, at_input = product.input_shapes, _INPUT_AT.get(product.name, 0)
            dims: tuple[int, ...] = shapes[at_input] if len(shapes) > at_input else ()
            if not is_dims(dims) or len(dims) < _FEWEST_DIMS:
                continue
            goes_on = until < trace.tree_count and trace.location(until) == trace.location(row)
            end_ns = trace.start_ns[until] if goes_on else product.end_ns
            time_ns = (int(trace.start_ns[row]), int(end_ns))
            kind = product.name, tuple(dims[1:])
            yield _Batch(trace.event(row), time_ns, kind, int(dims[0]))
