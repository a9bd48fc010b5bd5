"""TDY101: a DataLoader without worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import FixPlace, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Rows, Trace, rows_of

from ..base import Match, Matches, Pattern
from ..evidence.device import copies, launches
from ..evidence.fixes import edits
from ..evidence.python import frames, places
from ..evidence.python.made_places import made_at
from ..evidence.time.loader_work import LoaderWork, costliest_function
from ..examples import AT, FRAME, Fires, Quiet, steps, under
from ..option import WORTH_A_WARNING, Option, share, warning_share

# What taking rows and stacking them calls; the last are calls of these ops.
_TAKE = ("aten::select",)
_STACK = ("aten::stack",)
_CALLS = ("aten::item", "aten::slice", "aten::lift_fresh", "aten::detach*", "aten::unsqueeze")
_WITHIN = (
    "aten::_local_scalar_dense", "aten::as_strided", "aten::cat", "aten::narrow", "aten::copy_",
    "aten::empty*", "aten::resize_", "aten::view", "detach*",
)  # fmt: skip
_LONGEST_ROW_NS = 15_000  # what takes longer does more than to take a row from memory
_MOST = 0.75  # of the fetches; the first of an epoch draws the order too

_FETCH = frames.FETCH_ALONE
# As many workers as a small machine, or a usual one, has cores for.
_FEW_WORKERS, _MANY_WORKERS = 2, 8
# What a batch of a worker still takes: its pages are read for the first time when it is copied to
# the GPU, at so many bytes a nanosecond, and it has to be received.
_FASTEST, _SLOWEST, _RECEIVED_NS = 10, 2, 500_000

# What one index takes, as rows one by one do, and the part of a fetch that making the indexes takes
# at most: measured 8 to 46 % of the fetch of 64 rows of two tensors.
_INDEX, _LOOP = 4, 0.4
_FIX_OF_ROWS = "index a whole batch at once: x[rows], for rows in torch.randperm(n).split(64)"

_FIX_OF_WORK = "first make {}() cheaper (whole arrays in place of loops); then num_workers=N"

_FILE = "torch/utils/data/dataloader.py"
_ITERATOR = f"{_FILE}(492): __iter__ > {_FILE}(425): _get_iterator"
_INIT = f"{_FILE}(760): __init__"
_CHECK = f"{_FILE}(593): check_worker_number_rationality"
_MADE, _LONG = under(_ITERATOR, _INIT), f"{_FETCH} 400us"
_BY_WORKERS = f"{frames.FETCH_BY_WORKERS} 40us"
_PAD, _FILLS = "data.py(3): pad", "aten::fill_ 9us\n" * 40
_ROWS = under(_FETCH, "aten::select 6us\n" * 16 + "aten::stack 6us\n")


class SynchronousDataLoader(Pattern):
    """A DataLoader fetches each batch in the training process, while nothing else happens.

    What it does: It finds the batches that a DataLoader without workers fetches and, with Python
    stacks, the places where such a DataLoader is set up. Where a GPU is busy meanwhile nothing is
    lost. It names the user's function that takes half of loading; one that calls many operators
    each time comes before workers.
    Why it costs: The training process reads and transforms each batch before it can go on, so the
    GPU idles. The cost is the time of the fetches; a replay tells what is saved without them.
    Example: `for batch in DataLoader(data, batch_size=64):`, which a trace shows as

        enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__      for every batch

        torch/utils/data/dataloader.py(...): __iter__                    with Python stacks
          torch/utils/data/dataloader.py(...): _get_iterator
            NOT torch/utils/data/dataloader.py(...): check_worker_number_rationality

    Instead: Pass `num_workers=N` to the DataLoader, with `persistent_workers=True` over several
    epochs and `pin_memory=True` for a GPU. Where the items are rows of tensors in memory, workers
    only make it slower: index the tensors with all rows of a batch at once,
    `for rows in torch.randperm(len(x)).split(64): batch = x[rows]`.
    Cannot see: It misses loops that read and collate without a DataLoader, and loaders of other
    libraries. Rows of numpy arrays do not show as ops, and are taken for what workers can fetch.
    """

    code = "TDY101"
    needs = frozenset[Capability]()
    why_no_edit = "no batch was fetched here in the time that counts"
    fix = "DataLoader(..., num_workers=N), N near the number of free CPU cores"
    warning_from = warning_share(WORTH_A_WARNING)
    fewest_rows = Option(8, "fewer rows of a tensor are taken about as fast one by one", least=2)
    longest_row_us = Option(
        50.0, "where each takes longer, the loader does more than to take rows of tensors"
    )
    fewest_ops = Option(32, "a function that calls fewer operators decodes or reads", least=1)
    most_of_loading = share(0.5, "so much of loading is in a function that comes before workers")
    examples = (
        Fires("fetches", under(FRAME, steps(_LONG, "aten::mm 200us", lasts_us=None)), 3, AT),
        Fires("iterator-and-fetches", under(FRAME, _MADE, _LONG, _LONG), events=2, at=AT),
        Fires("iterator", under(FRAME, _MADE), at=AT, severity=Severity.INFO),
        Fires("small-share", steps(f"{_FETCH} 10us", count=1), severity=Severity.INFO),
        Fires("rows", steps(_ROWS, "aten::mm 200us", lasts_us=None), events=3),
        Fires("a-slow-function", steps(under(f"{FRAME} > {_FETCH} > {_PAD}", _FILLS)), 3, AT),
        Quiet("workers", under(FRAME, under(_ITERATOR, _CHECK, _INIT), _BY_WORKERS)),
        Quiet("workers-of-a-cut-recording", under(FRAME, _MADE, _BY_WORKERS)),
    )

    def find(self, trace: Trace) -> Matches:
        fetches = list(trace.events(_fetches(trace)))
        of_workers = trace.rows_named(frames.FETCH_BY_WORKERS)
        known = {trace.location(row) for row in of_workers[of_workers < trace.tree_count].tolist()}
        known |= {event.location for event in fetches}
        # Where batches are fetched, that tells more than where their iterator is made.
        iterators = [
            event
            for event in trace.named(frames.DATA_LOADER + "__iter__")
            if event.location not in known and _has_no_workers(event)
        ]
        for line in places.grouped(fetches, lambda event: event.location):
            items = self._row_items(trace, line)
            for events in places.by_window(line):
                yield self._of_fetches(trace, events, items)
        for events in places.by_line(iterators):
            what = "a DataLoader without workers is set up here"
            yield Match(events, what, (), severity=Severity.INFO)

    def _of_fetches(self, trace: Trace, events: list[Event], items: _RowItems | None) -> Match:
        while_what = "while the GPU waits" if trace.devices_used else "in the training process"
        message = f"batches are loaded {while_what}"
        if items:
            message += f", {items.rows // items.stacks} rows of tensors in memory one by one"
        rows = rows_of(events)
        time = trace.time_of(rows)
        edit = _edit(trace, rows[trace.in_window(rows)], items)
        place = made_at(trace, "loader", events[0].location)
        work = None if items else self._work(trace, rows)
        if work is not None:
            message += f", {work.share:.0%} of it in {work.name}()"
            if self._comes_first(work):
                calls = f"{work.name}() calls {work.ops // work.calls:,} operators each time"
                place = FixPlace(calls, work.location)
            else:
                message += f" at {work.location}"
        return Match(events, message, time, edit, fix_place=place)

    def _work(self, trace: Trace, fetches: Rows) -> LoaderWork | None:
        """The function that most of these fetches is spent in, but for one that takes rows."""
        work = costliest_function(trace, fetches, self.most_of_loading)
        if work is None or work.time_ns < _LONGEST_ROW_NS * work.calls:
            return None
        return work

    def _comes_first(self, work: LoaderWork) -> bool:
        return work.ops >= self.fewest_ops * work.calls

    def fix_of(self, events: Sequence[Event]) -> str:
        trace, place = events[0].trace, events[0].location
        counts = _count(trace, _fetches(trace), *_TAKE)
        if events[0].name != _FETCH:
            return self.fix
        line = [event for event in trace.events(_fetches(trace)) if event.location == place]
        if (counts >= self.fewest_rows).any() and self._row_items(trace, line):
            return _FIX_OF_ROWS
        work = self._work(trace, rows_of(events))
        return _FIX_OF_WORK.format(work.name) if work and self._comes_first(work) else self.fix

    def _row_items(self, trace: Trace, line: list[Event]) -> _RowItems | None:
        """Tell what the fetches of a line do, where they do nothing else; None where they do."""
        if not len(trace.rows_named(*_TAKE)) or not line:
            return None
        fetches, fewest = rows_of(line), self.fewest_rows
        taken, stacked = (_count(trace, fetches, *names) for names in (_TAKE, _STACK))
        others = _count(trace, fetches, "*") - taken - stacked
        others -= _count(trace, fetches, *_CALLS, *_WITHIN)
        fits = (taken >= fewest * np.maximum(stacked, 1)) & (stacked > 0)
        fits &= others * fewest < taken
        fits &= trace.duration_ns[fetches] <= 1000 * self.longest_row_us * taken
        if np.count_nonzero(fits) < _MOST * len(fetches):
            return None
        return _RowItems(int(np.median(taken[fits])), int(np.median(stacked[fits])))


def _fetches(trace: Trace) -> Rows:
    """The fetches that a thread of the host ran."""
    rows: Rows = trace.rows_named(_FETCH)
    return rows[rows < trace.tree_count]


def _edit(trace: Trace, fetches: NDArray[np.int64], items: _RowItems | None) -> Edit | None:
    """Workers fetch meanwhile; taking a batch from them stays, and what they cannot keep up."""
    fetch_ns = (trace.time_of(fetches) & trace.step_time).total_ns
    if not fetch_ns:
        return None
    host = edits.host_time(trace, fetches)
    if items:
        part = items.stacks / items.rows
        left = (_INDEX * part, min(_LOOP + 4 * _INDEX * part, 1.0))
        return Edit("one index for a batch", host, left=left)
    others = trace.window.time_ns / fetch_ns - 1
    many, few = (max(1 / workers - others, 0.0) for workers in (_MANY_WORKERS, _FEW_WORKERS))
    uploads = copies.copy_rows(trace, "HtoD")
    nbytes = int(trace.nbytes[uploads[trace.in_window(uploads)]].clip(0).sum())
    received_ns = _RECEIVED_NS * len(fetches)
    least, most = nbytes / _FASTEST / fetch_ns, (nbytes / _SLOWEST + received_ns) / fetch_ns
    left = (min(max(many, least), 1.0), min(max(few, most), 1.0))
    model = f"the fetches in {_FEW_WORKERS} to {_MANY_WORKERS} workers"
    return Edit(model, host, left=left, moves=True)


def _has_no_workers(iterator: Event) -> bool:
    """Tell whether an `__iter__` makes an iterator, and makes it without asking about workers.

    Calls that were open when a piece of the recording began start with it, all at one time; what
    was asked before is in the piece before.
    """
    for call in iterator.children[:1]:
        if call.name.endswith(": _get_iterator") and _FILE in call.name:
            if call.start_ns == iterator.start_ns:
                return False
            inner = call.children
            return bool(inner) and not inner[0].name.endswith(": check_worker_number_rationality")
    return False


class _RowItems(NamedTuple):
    """The work of a fetch, in the median: rows of tensors taken, and batches stacked of them."""

    rows: int
    stacks: int


def _count(trace: Trace, fetches: Rows, *names: str) -> NDArray[np.int64]:
    """Tell how many ops of these names each fetch holds."""
    ops = trace.rows_of_kind(EventKind.TorchOp)
    ops = ops[launches.has_name(trace, *names)[trace.name_id[ops]]]
    within: NDArray[np.int64] = np.searchsorted(ops, trace.subtree_end[fetches])
    return within - np.searchsorted(ops, fetches, side="right")
