"""TDY408: a tensor that grows by `torch.cat` in a loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace

from ..base import Pattern
from ..evidence import concatenations, edits, frames, places, timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, under
from ..match import Match
from ..option import Option, share


def _grows(body: str = "", count: int = 12, by: int = 1) -> str:
    """`out = torch.cat([out, row])` in each round, and what else there is in it."""
    sizes = range(by, (count + 1) * by, by)
    cat = "aten::cat 5us | TensorList[{}, 8; {}, 8], =0\n{}"
    return "".join(cat.format(size, by, body.format(size + by)) for size in sizes)


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
        10,
        "a tensor that grows fewer times is copied a few times, too",
        least=2,
    )
    read_share = share(0.2, "what is read in more of the rounds than this has to be whole in each")
    examples = (
        Fires("rows", under(FRAME, _grows()), events=12, at=AT),
        Fires("with-work", under(FRAME, _grows("aten::mul 3us | float[1, 8]\n")), events=12, at=AT),
        Quiet("nine", _grows(count=9)),
        Quiet("read-in-each-round", _grows("aten::mm | float[{}, 8], float[8, 8]\n")),
        Quiet("same-sizes", "aten::cat | TensorList[4, 8; 1, 8], =0\n" * 12),
        Quiet("data-set", under(frames.FETCH_ALONE, _grows())),
        Abstains("no-shapes", "aten::cat\n" * 12),
    )

    def find(self, trace: Trace) -> Iterable[Match]:
        found = concatenations.growing(trace, self.fewest_rounds, self.read_share)
        for chains in places.parts(found, lambda chain: chain[0].location, itemgetter(0)):
            events = [cat for chain in chains for cat in chain]
            yield Match(
                events,
                message=f"{len(events)} times torch.cat copies a tensor to make it longer",
                cost=timing.Cost(trace.time_of(cat.row for cat in events), matters=True),
                edit=_at_once(trace, events, min(map(len, chains))),
            )


def _at_once(trace: Trace, events: Sequence[Event], rounds: int) -> Edit:
    """One copy of all rows, where there were as many as half the rounds."""
    return edits.without_ops(trace, events, "one torch.cat", (1 / rounds, 4 / rounds))
