"""TDY408: a tensor that grows by `torch.cat` in a loop."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import cache, cached_property, partial
from itertools import pairwise
from operator import itemgetter

import numpy as np

from tidy.trace import Capability, Event, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.intervals import any_within

from ..base import Match, Matches, Pattern
from ..evidence.device.autograd import called_by_script
from ..evidence.device.launches import has_name, ops_in_no_op
from ..evidence.fixes import edits
from ..evidence.python import frames, op_names, places
from ..evidence.time.rounds import count_text
from ..examples import AT, FRAME, Abstains, Fires, Quiet, under
from ..option import Option, share

_Dims = tuple[int, ...]
_MOST_AT_ONCE = 8  # tensors of one size that grow in one loop, each of which is followed


def _grows(body: str = "", count: int = 12, by: int = 1, copies: int = 1) -> str:
    """`out = torch.cat([out, row])` in each round, of so many tensors, and what else is in it."""
    sizes = range(by, (count + 1) * by, by)
    cat = "aten::cat 5us | TensorList[{}, 8; {}, 8], =0\n{}"
    return "".join(copies * cat.format(size, by, body.format(size + by)) for size in sizes)


class GrowingCat(Pattern):
    """A tensor grows by `torch.cat` in a loop, and is copied whole in each round.

    What it does: It follows tensors through `aten::cat` by their shapes: ten or more in a row, each
    of which takes what the one before gave, on one thread. Where another operator reads what has
    grown, in more than a fifth of the rounds, it has to be whole in each (a key-value cache, a
    dense block, the tokens generated so far), and it is left alone.
    Why it costs: All rows are copied again for each new one: n rows are n * n / 2 copies.
    Example: `out = torch.cat([out, row])` in the loop, recorded as

        aten::cat  (1, 8) and (1, 8)
        aten::cat  (2, 8) and (1, 8)
        aten::cat  (3, 8) and (1, 8)            ten rounds or more

    Instead: Append to a list and call `torch.cat` (or `torch.stack`) once, after the loop; or write
    into a tensor that is as large as it will be.
    Cannot see: It needs input shapes. It misses tensors that grow in a library's function.
    """

    code = "TDY408"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    fix = "append to a list, and call torch.cat once after the loop"
    fewest_rounds = Option(
        10, "a tensor that grows fewer times is copied a few times, too", least=2
    )
    read_share = share(0.2, "what is read in more of the rounds than this has to be whole in each")
    examples = (
        Fires("rows", under(FRAME, _grows()), events=12, at=AT),
        Fires("two-alike", under(FRAME, _grows(copies=2)), events=24, at=AT),
        Fires("with-work", under(FRAME, _grows("aten::mul 3us | float[1, 8]\n")), events=12, at=AT),
        Quiet("nine", _grows(count=9)),
        Quiet("read-in-each-round", _grows("aten::mm | float[{}, 8], float[8, 8]\n")),
        Quiet("same-sizes", "aten::cat | TensorList[4, 8; 1, 8], =0\n" * 12),
        Quiet("data-set", under(frames.FETCH_ALONE, _grows())),
        Abstains("no-shapes", "aten::cat\n" * 12),
    )

    def find(self, trace: Trace) -> Matches:
        found = _growing(trace, self.fewest_rounds, self.read_share)
        for chains in places.parts(found, lambda chain: chain[0].location, itemgetter(0)):
            events = [cat for chain in chains for cat in chain]
            rounds = min(map(len, chains))  # one copy of all rows, or of as much as a few rounds
            rows = np.array([cat.row for cat in events])
            times = count_text(trace, len(events), "times", [rows])
            yield Match(
                events,
                f"{times} torch.cat copies a tensor to make it longer",
                trace.time_of(cat.row for cat in events),
                edits.without_ops(trace, events, "one torch.cat", (1 / rounds, 4 / rounds)),
            )


def _growing(trace: Trace, fewest_rounds: int, read_share: float) -> Iterator[list[Event]]:
    """Chains of calls, each of which takes what the one before gave, by thread."""
    rows = called_by_script(trace, "aten::cat")
    for track in np.unique(trace.track_id[rows]).tolist():
        own = rows[trace.track_id[rows] == track]
        ops = ops_in_no_op(trace, track) if len(own) >= fewest_rounds else own[:0]
        readers = _Readers(trace, ops)
        for chain in _grown(trace, ops[np.isin(ops, own)], fewest_rounds):
            if readers.count(chain) <= read_share * len(chain):
                yield [cat for cat, _ in chain]


def _grown(trace: Trace, cats: Rows, fewest: int) -> Iterator[list[tuple[Event, _Dims]]]:
    """Calls of which each takes what the one before gave, and the dims of what each gives."""
    open_ = defaultdict[_Dims, deque[list[tuple[Event, _Dims]]]](deque)  # the oldest first
    sizes_of = cache(partial(_sizes, trace))
    for cat, inputs_id in zip(trace.events(cats), trace.inputs_id[cats].tolist(), strict=True):
        sizes, given = sizes_of(inputs_id)
        taken = next((dims for dims in sizes if open_.get(dims) and dims != given), None)
        chain = open_[taken].popleft() if taken is not None else []
        if given:
            alike = open_[given]
            if len(alike) >= _MOST_AT_ONCE and len(before := alike.popleft()) >= fewest:
                yield before
            chain.append((cat, given))
            alike.append(chain)
    yield from (chain for chains in open_.values() for chain in chains if len(chain) >= fewest)


def _sizes(trace: Trace, inputs_id: int) -> tuple[list[_Dims], _Dims]:
    """The dims of the tensors that are concatenated and of what that gives; () if not known."""
    shapes, values = trace.inputs.shapes(inputs_id), trace.inputs.concrete(inputs_id)
    tensors = [dims for dims in shapes[0] if is_dims(dims)] if shapes else []
    if len(tensors) < 2 or len(values) < 2 or not str(values[1]).lstrip("-").isdigit():
        return [], ()
    dim, most = int(str(values[1])), max(map(len, tensors))
    tensors = [dims for dims in tensors if len(dims) == most]
    if not tensors or not -most <= dim < most:
        return [], ()
    dim %= most
    given = list(tensors[0])
    given[dim] = sum(dims[dim] for dims in tensors)
    return tensors, tuple(given)


class _Readers:
    """The operators of a thread that read tensors: those with such dims among their inputs."""

    def __init__(self, trace: Trace, ops: Rows) -> None:
        is_other = ~has_name(trace, "aten::cat", *op_names.VIEWS)
        self._trace, self._ops = trace, ops[is_other[trace.name_id[ops]]]
        self._known = dict[_Dims, Rows]()

    @cached_property
    def _by_inputs(self) -> tuple[Rows, list[int], list[int]]:
        """Their rows by inputs, the inputs that there are, and where the rows of each begin."""
        inputs = self._trace.inputs_id[self._ops]
        order = np.argsort(inputs, kind="stable")
        known, first = np.unique(inputs[order], return_index=True)
        return self._ops[order], known.tolist(), [*first.tolist(), len(order)]

    @cached_property
    def _inputs_with(self) -> dict[object, list[int]]:
        """By dims which of the inputs that there are have them."""
        found = defaultdict[object, list[int]](list)
        for number, inputs_id in enumerate(self._by_inputs[1]):
            for dims in set(self._trace.inputs.shapes(inputs_id)):
                found[dims].append(number)
        return found

    def of(self, dims: _Dims) -> Rows:
        """Return their rows, ascending."""
        if dims not in self._known:
            rows, _, first = self._by_inputs
            own = [rows[first[each] : first[each + 1]] for each in self._inputs_with[dims]]
            self._known[dims] = np.sort(np.concatenate(own))
        return self._known[dims]

    def count(self, chain: list[tuple[Event, _Dims]]) -> int:
        """In how many of the rounds other operators take what has grown."""
        return sum(
            any_within(self.of(dims), int(self._trace.subtree_end[cat.row]), after.row)
            for (cat, dims), (after, _) in pairwise(chain)
            if dims in self._inputs_with
        )
