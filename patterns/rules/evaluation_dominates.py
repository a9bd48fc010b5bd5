"""TDY707: a training that spends more time on its evaluations than on itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotApplicable, NotChecked, Obstacle, Severity
from tidy.trace import Events, Intervals, Rows, Trace
from tidy.trace.finished import finished_by_devices
from tidy.trace.kept import kept
from tidy.trace.steps import Step

from ..base import Match, Matches, Pattern
from ..evidence.device import launches, updates
from ..evidence.device.autograd import NODE
from ..evidence.python import frames
from ..evidence.python.op_names import PRODUCTS
from ..examples import AT, FRAME, Abstains, Fires, Quiet, on_gpu, under
from ..option import Option, word_share

_ONCE = NotChecked(
    "only one evaluation was recorded, longer than training: it is not known how often one runs",
    "record from one evaluation to the next (--steps)",
)
_FEWEST = 2  # evaluations, for what is from one to the next
_TRAINS_IN_IT = (f"{NODE}*", updates.STEP)

_FETCHED = f"{frames.FETCH_ALONE} 5us\naten::linear 90us\n"
_TRAINED = f"{_FETCHED}Optimizer.step#SGD.step 9us\n"


def _epochs(*evaluated: int, trained: int = 4) -> str:
    """Epochs of so many batches of training, after which so many are evaluated."""
    return under(FRAME, *(_TRAINED * trained + _FETCHED * count for count in evaluated))


_SAVED = under(FRAME, (_TRAINED * 4 + _FETCHED * 3 + "train.py(9): save 3000us\n") * 3)


class EvaluationDominates(Pattern):
    """A training evaluates its model for longer than it trains it.

    What it does: It looks at the time from each fetch of a loader to the next: it is training if a
    backward or an optimizer's step begins in it, and evaluation if only products do. Where devices
    are behind, a batch lasts until they have finished its work. If two evaluations of two batches
    or more were recorded, with training between them, the shares from the first to the last stand
    for those of the run.
    Why it costs: An evaluation teaches the model nothing, and costs a third of a training step for
    each batch. Over more batches than were trained on it takes most of the run.
    Example: A validation of 40 batches after every 5 of training, recorded as

        enumerate(DataLoader)#...   aten::linear   Optimizer.step#SGD.step     5 times
        enumerate(DataLoader)#...   aten::linear                              40 times

    Instead: Evaluate after more steps of training, or on a part of the samples, and only at the
    end on all of them. Without gradients (`torch.inference_mode()`) a model has room for larger
    batches, and metrics can stay on the device until the evaluation is over.
    Cannot see: It misses evaluations without a loader. How often evaluations are wanted is not in
    the trace, so it is info. One evaluation in a recording does not tell how often there is one.
    """

    code = "TDY707"
    severity = Severity.INFO
    why_no_edit = "the trace does not tell how often an evaluation is needed"
    fix = "evaluate less often, on fewer samples, or in larger batches (inference_mode())"
    fewest_batches = Option(2, "a single one may be a batch of training that was left out", least=1)
    fewest_trained = Option(2, "batches of training between evaluations, not parts of it", least=1)
    times_training = Option(1.0, "an evaluation that takes less than training is usual")
    worth_a_word = word_share(0.3, "evaluations")
    examples = (
        Fires("each-epoch", _epochs(12, 12, 12), events=24, at=AT),
        Quiet("shorter-than-training", _epochs(3, 3, 3)),
        Quiet("saved-after-it", _SAVED),
        Quiet("once-and-shorter", _epochs(3, 0)),
        Quiet("training", _epochs(0, 0)),
        Quiet("parts-of-each-step", _epochs(12, 12, 12, trained=1)),
        Quiet("batch-left-out", _epochs(1, 1, 1, trained=2)),
        Fires("on-a-gpu", on_gpu(_epochs(12, 12, 12)), events=24, at=AT),
        Abstains("once", _epochs(12, 0)),
        Abstains("evaluation-alone", under(FRAME, _FETCHED * 40)),
        Abstains("no-loader", under(FRAME, "aten::linear\nOptimizer.step#SGD.step 9us\n" * 9)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(launches.tree_rows(trace, *_TRAINS_IN_IT)):
            return NotApplicable("nothing was trained")
        if not len(launches.tree_rows(trace, frames.FETCH)):
            return NotApplicable("no loader was used")
        batches = _batches(trace)
        trains, first, _ = self._stretches(batches)
        took = batches.ends_ns - batches.starts_ns
        if np.count_nonzero(~trains[first]) == 1 and took[~trains].sum() > took[trains].sum():
            return _ONCE
        return None

    def find(self, trace: Trace) -> Matches:
        batches = _batches(trace)
        trains, first, counts = self._stretches(batches)
        evaluations = np.flatnonzero(~trains[first])
        if len(evaluations) < _FEWEST:
            return
        # From the first evaluation to the last there is as much of both as in the run.
        between = counts[evaluations[0] : evaluations[-1]]
        if between[1::2].min() < self.fewest_trained:
            return
        known = slice(first[evaluations[0]], first[evaluations[-1]])
        took, is_training = (batches.ends_ns - batches.starts_ns)[known], trains[known]
        whole_ns = batches.starts_ns[known.stop] - batches.starts_ns[known.start]
        evaluating, training = (took[some].sum() / whole_ns for some in (~is_training, is_training))
        if evaluating < max(self.times_training * training, self.worth_a_word):
            return
        each, other = (int(np.median(some)) for some in (between[::2], between[1::2]))
        yield Match(
            Events(trace, batches.fetches[~trains]),
            f"evaluation takes {evaluating:.0%} of the time and training {training:.0%}:"
            f" {each:,} batches after {other:,} of training",
            Intervals(batches.starts_ns[~trains], batches.ends_ns[~trains]),
        )

    def _stretches(self, batches: _UsedBatches) -> tuple[NDArray[np.bool_], Rows, Rows]:
        """Which batches are of training, where those of one sort begin, and how many they are."""
        trains = batches.trains
        _, counts = _alike(trains)
        trains = trains | np.repeat(counts < self.fewest_batches, counts)
        return trains, *_alike(trains)


def _alike(trains: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    first = np.flatnonzero(np.diff(trains, prepend=~trains[:1]))
    return first, np.diff(first, append=len(trains))


class _UsedBatches(NamedTuple):
    """What a loader's batches are used for, by start, shape (n,); others compute nothing.

    Attributes:
        fetches: the rows of their fetches.
        starts_ns, ends_ns: from a fetch to the next, or when devices have finished their work.
        trains: whether a backward or an optimizer's step begins in that time.
    """

    fetches: Rows
    starts_ns: Rows
    ends_ns: Rows
    trains: NDArray[np.bool_]


@kept
def _batches(trace: Trace) -> _UsedBatches:
    fetches = launches.tree_rows(trace, frames.FETCH)
    main = np.bincount(trace.track_id[fetches]).argmax()
    fetches = fetches[trace.track_id[fetches] == main]
    fetches = fetches[np.argsort(trace.start_ns[fetches], kind="stable")]
    starts = trace.start_ns[fetches]
    computes = launches.tree_rows(trace, *PRODUCTS)
    trained = launches.tree_rows(trace, *_TRAINS_IN_IT)
    last_ns = trace.end_ns[computes[trace.track_id[computes] == main]].max(initial=starts[-1])
    ends = np.append(starts[1:], last_ns)
    some, trains = (
        np.searchsorted(times, ends) > np.searchsorted(times, starts)
        for times in (np.sort(trace.start_ns[rows]) for rows in (computes, trained))
    )
    some |= trains
    fetches, starts, ends, trains = fetches[some], starts[some], ends[some], trains[some]
    # What follows the last batch of a sort may be anything: it counts as twice the one before.
    is_alike = trains[1:] == trains[:-1]
    is_last = np.append(~is_alike, True) & np.append(False, is_alike)
    before = np.append(0, (ends - starts)[:-1])
    ends = np.where(is_last, np.minimum(ends, starts + 2 * before), ends)
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    rounds = [Step(number, *each) for number, each in enumerate(bounds)]
    if rounds and (finished := finished_by_devices(trace, rounds)) is not None:
        starts, ends = np.array(finished, np.int64).T
    return _UsedBatches(fetches, starts, ends, trains)
