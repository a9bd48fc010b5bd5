"""What a host thread does at each moment, and the kind of time that is.

A thread's time is cut where any of its events begins or ends; in each piece one event is the
innermost, and one call of the driver may be open in it. The kind of a piece follows from both, and
from the nearest event above that says more than the piece does (a loader's fetch, an optimizer's
step, compilation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Intervals, Rows, Trace
from ..trace.intervals import repeated
from ..trace.kept import kept
from ..trace.loader_fetches import find_fetches
from ..trace.steps import step_ranges
from .closures import closures
from .host_kinds import (
    BETWEEN_OPS,
    CODE_OF,
    COLLECTIVE,
    COMPILING,
    HOOK,
    LAUNCHING,
    OPTIMIZER,
    OTHER_PROCESS,
    RECEIVING,
    STALLED,
    WORKERS,
)
from .host_rows import HostRows
from .host_thread import Turns, turns_of
from .ranks import ENDS_TOGETHER_ON_HOST_NS, collectives_on_host
from .work_kinds import OPTIMIZER as OPTIMIZER_OP

_BETWEEN_OPS = [CODE_OF[kind] for kind in BETWEEN_OPS]
_MAY_WAIT = [*_BETWEEN_OPS, CODE_OF[OTHER_PROCESS]]
_SOON = 0.25  # of a wait: what ends so soon after it ended it


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """A thread's time in pieces: piece i is [starts_ns[i], starts_ns[i + 1]).

    Attributes:
        kind: index into `HOST_KINDS`.
        row: the innermost tree row or call in it, -1 where nothing is open.
    """

    starts_ns: NDArray[np.int64]
    kind: NDArray[np.int8]
    row: NDArray[np.int32]


class ToldRanges(NamedTuple):
    """The time in ranges of a thread that say what it does; the later of a list count more.

    What `between_ops` says holds between operators only.
    """

    between_ops: list[tuple[int, Intervals]]
    of_all: list[tuple[int, Intervals]]


@kept
def main_track(trace: Trace) -> int:
    """Return the track of the thread that runs the steps; -1 if there is no host event at all.

    It is the thread of the steps' ranges, else the one that launches most, else that with most
    operators.
    """
    count = trace.tree_count
    optimizers = trace.rows_named("Optimizer.step#*")
    for chosen in (
        np.append(step_ranges(trace), optimizers[optimizers < count]),
        trace.rows_of_kind(EventKind.Runtime),
        np.flatnonzero(trace.kind[:count] == EventKind.TorchOp),
        np.arange(count),
    ):
        if len(chosen):
            return int(np.bincount(trace.track_id[chosen]).argmax())
    return -1


class HostTime:
    """The pieces of each host thread of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._pieces: dict[int, ThreadTime] = {}
        self._rows = HostRows(trace)

    @cached_property
    def _receiving(self) -> Intervals:
        """When a batch is fetched that a worker is known to have ready."""
        received = (each.receiving(self._trace) for each in find_fetches(self._trace))
        return reduce(or_, received, Intervals())

    @cached_property
    def _closures(self) -> Intervals:
        return closures(self._trace)

    @property
    def main(self) -> int:
        """The track of the thread that runs the steps; -1 where there is no host event at all."""
        return main_track(self._trace)

    def pieces(self, track_id: int) -> ThreadTime:
        """Return the pieces of one thread, over all of the trace's time."""
        if track_id not in self._pieces:
            self._pieces[track_id] = self._cut(track_id)
        return self._pieces[track_id]

    def _cut(self, track_id: int) -> ThreadTime:
        if track_id < 0:
            return ThreadTime(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int32))
        trace, count = self._trace, self._trace.tree_count
        tree = np.flatnonzero(trace.track_id[:count] == track_id)
        tree = tree[trace.duration_ns[tree] > 0]
        calls = trace.rows_of_kind(EventKind.Runtime)
        calls = calls[(trace.track_id[calls] == track_id) & (trace.duration_ns[calls] > 0)]
        said = self._rows.range_codes[trace.name_id[tree]]
        said = np.where((said < 0) & self._rows.is_hook[tree], CODE_OF[HOOK], said)
        receiving = Intervals()
        if (said == CODE_OF[WORKERS]).any():
            receiving = self._receiving & trace.time_of(tree)
        of_python = self._rows.python_codes[trace.name_id[tree]]
        of_all = _by_code(trace, tree, said)
        if len(self._closures):
            is_optimizer = CODE_OF[OPTIMIZER]
            of_all = [(c, t - self._closures if c == is_optimizer else t) for c, t in of_all]
        ranges = ToldRanges(
            _by_code(trace, tree, of_python), [*of_all, (CODE_OF[RECEIVING], receiving)]
        )
        cuts = receiving, self._closures
        more = np.sort(np.concatenate([each for c in cuts for each in (c.starts_ns, c.ends_ns)]))
        most = 1 + 2 * (len(tree) + len(calls)) + len(more)
        starts, kind = np.empty(most, np.int64), np.empty(most, np.int8)
        row = np.empty(most, np.int32)
        count = 0
        for turns in turns_of(trace, tree, calls, more):
            part = slice(count, count := count + len(turns.times_ns))
            starts[part], kind[part] = turns.times_ns, self._kinds(turns, ranges)
            row[part] = np.where(turns.call >= 0, turns.call, turns.row)
        return self._with_collectives(
            track_id, ThreadTime(starts[:count], kind[:count], row[:count])
        )

    def _with_collectives(self, track_id: int, pieces: ThreadTime) -> ThreadTime:
        """Tell what the thread waits for: collectives of other threads that end while it does.

            this thread    [op]..................[op]
            Gloo's              [gloo:all_reduce]

        One that ends during other work is not waited for, but soon after: who waits may go on
        before the thread that wakes it does.
        """
        trace = self._trace
        rows = collectives_on_host(trace)
        rows = rows[trace.track_id[rows] != track_id]
        if not len(rows):
            return pieces
        row = np.where(pieces.row < trace.tree_count, pieces.row, -1)
        may_wait = np.isin(pieces.kind, _MAY_WAIT) & self._rows.may_wait[row]
        piece_ends = np.append(pieces.starts_ns[1:], np.iinfo(np.int64).max)
        waits_ns = np.where(may_wait, piece_ends - pieces.starts_ns, 0)
        since, at = (
            np.maximum(np.searchsorted(pieces.starts_ns, each) - 1, 0)
            for each in (trace.start_ns[rows], trace.end_ns[rows])
        )
        both = zip(since.tolist(), at.tolist(), strict=True)
        longest = [low + int(waits_ns[low : high + 1].argmax()) for low, high in both]
        at = np.where(waits_ns[at] >= _SOON * waits_ns[longest], at, longest)
        began = np.maximum(trace.start_ns[rows], pieces.starts_ns[at])
        ends = np.minimum(trace.end_ns[rows], piece_ends[at])
        soon_ns = np.minimum(_SOON * (ends - began), ENDS_TOGETHER_ON_HOST_NS)
        waited = may_wait[at] & (trace.end_ns[rows] - ends <= soon_ns)
        by_end = np.flatnonzero(waited)[np.argsort(ends[waited], kind="stable")]
        rows, began, ends = rows[by_end], began[by_end], ends[by_end]
        starts = np.unique(np.concatenate([pieces.starts_ns, began, ends]))
        of = np.searchsorted(pieces.starts_ns, starts, side="right") - 1
        kind, row = pieces.kind[of], pieces.row[of]
        inside = _inside(Intervals(began, ends), starts)
        kind[inside] = CODE_OF[COLLECTIVE]
        row[inside] = rows[np.searchsorted(ends, starts[inside], side="right")]
        return ThreadTime(starts, kind, row)

    def _kinds(self, turns: Turns, ranges: ToldRanges) -> NDArray[np.int8]:
        """The kind of a thread's time from each of these turns on."""
        trace, (times_ns, row, call) = self._trace, turns
        kind = self._rows.kinds[row]
        for code, time in ranges.between_ops:
            inside = _inside(time, times_ns)
            kind[inside[np.isin(kind[inside], _BETWEEN_OPS)]] = code
        own = kind.copy()
        for code, time in ranges.of_all:
            kind[_inside(time, times_ns)] = code
        in_range = (kind == CODE_OF[OPTIMIZER]) | (kind == CODE_OF[HOOK])
        if self._rows.is_cpu_run:
            # What an operator computes counts as that, in a hook and in an optimizer too.
            in_ops = self._rows.in_ops[row]
            kind = np.where(in_ops & (kind == CODE_OF[HOOK]), own, kind)
            in_ops &= kind == CODE_OF[OPTIMIZER]
            kind = np.where(in_ops, CODE_OF[OPTIMIZER_OP], kind).astype(np.int8)
        kind[in_range & (own == CODE_OF[STALLED])] = CODE_OF[STALLED]
        in_call = call >= 0
        of_call = self._rows.call_codes[trace.name_id[call[in_call]]]
        around = kind[in_call]
        keeps = (around == CODE_OF[OPTIMIZER]) | (around == CODE_OF[HOOK])
        plain = np.where(keeps, around, CODE_OF[LAUNCHING])
        kind[in_call] = np.where(of_call < 0, plain, of_call)
        if trace.first_calls:
            innermost = np.where(in_call, call, row)
            kind[np.isin(innermost, list(trace.first_calls))] = CODE_OF[COMPILING]
        return kind


def _inside(time: Intervals, times_ns: NDArray[np.int64]) -> NDArray[np.int32]:
    """The indices of the ascending times that lie in `time`."""
    first = np.searchsorted(times_ns, time.starts_ns)
    return repeated(np.searchsorted(times_ns, time.ends_ns) - first, first)[1]


def _by_code(trace: Trace, rows: Rows, codes: NDArray[np.int8]) -> list[tuple[int, Intervals]]:
    """The time in rows of each code, from that which counts least to that which counts most.

    Ranges are asked for by time: what runs in one need not hang below it in the tree.
    """
    return [
        (code, trace.time_of(rows[codes == code]))
        for code in np.flatnonzero(np.bincount(codes[codes >= 0]))[::-1].tolist()
    ]
