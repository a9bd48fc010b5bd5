"""TDY106: a batch that is put together from one item after the other."""

from __future__ import annotations

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Trace

from ..base import Match, Matches, Pattern
from ..evidence.fixes.item_batches import Limits, item_batches
from ..evidence.python import frames
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import EASY_WARNING, LARGE_INFO, Option, word_share

# One index of all items takes 0.02 to 0.35 of the time, 0.7 where each item is long.
_LEFT = (0.05, 0.6)

_SLICE = "aten::item\naten::item\naten::slice | long[1000], =0, ={}, ={}, =1\n"
_STACK_OF_20 = "aten::stack | TensorList[" + "8; " * 19 + "8]"
_ROW_OF_ONE = "aten::select | float[90, 8], =0, ={}\naten::unsqueeze | float[8], =0\n"
_CAT = "aten::cat 20us | TensorList[" + "1, 8; " * 15 + "1, 8], ={}"
_TWO = "aten::select | float[99, 99, 8], =0, ={}\naten::select | float[99, 8], =0, ={}\n"
_ANY_ARRAY = "aten::lift_fresh | long[8]\n"
_ARRAY = f"aten::item\naten::item\n{_ANY_ARRAY}"


def _batch(item: str = _SLICE, count: int = 16, stack: str = "aten::stack 20us") -> str:
    """A batch of items that begin at places 7 apart."""
    return under(FRAME, "".join(item.format(7 * i, 7 * i + 8) for i in range(count)), stack)


class BatchItemByItem(Pattern):
    """A batch is put together from one item after the other, in the training loop.

    What it does: It finds `torch.stack` of eight items or more, or `torch.cat` of items of one size
    along their first dimension, right after as many equal rounds of operators that only take an
    item each: one slice or row of a tensor, along its first dimension, at another place in each
    round; or a part of a numpy array. That has to happen in two steps, and to take 5 % of the
    window in all while no device works. Arrays that may not be parts of a larger one are info.
    Batches that a DataLoader makes are left to TDY101.
    Why it costs: For each item there are two to six operators, or calls of numpy, which take far
    longer than to copy it.
    Example: `torch.stack([data[i : i + 64] for i in starts])`, recorded as

        aten::item  aten::item  aten::slice          16 times
        aten::stack

    Instead: Index once: `data[starts[:, None] + torch.arange(64)]`, or `data[rows]` for whole rows;
    arrays of numpy, mapped from a file too, are indexed in the same way before `torch.from_numpy`.
    Or have the workers of a DataLoader make batches.
    Cannot see: It needs input shapes. It misses items that are computed on, and `np.stack`.
    """

    code = "TDY106"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "the items may be parts of several arrays"
    fix = "index once, data[starts[:, None] + arange(length)], or make batches in workers"
    fewest_items = Option(8, "a batch of fewer items is made about as fast one by one", least=2)
    longest_python_us = Option(
        250.0, "Python that takes longer for each item reads or decodes it; a slice took 90 to 170"
    )
    worth_a_word = word_share(LARGE_INFO, "such batches")
    examples = (
        Fires("slices", steps(_batch()), events=3, at=AT),
        Fires("memory-mapped", steps(_batch(_ARRAY)), events=3, at=AT),
        Fires("rows", steps(_batch("aten::select | float[90, 8], =0, ={}\n")), events=3, at=AT),
        Fires("joined", steps(_batch(_ROW_OF_ONE, stack=_CAT.format(0))), events=3, at=AT),
        Fires("arrays", steps(_batch(_ANY_ARRAY)), 3, AT, Severity.INFO),
        Quiet("joined-side-by-side", steps(_batch(_ROW_OF_ONE, stack=_CAT.format(1)))),
        Quiet(
            "joined-in-several-sizes",
            steps(_batch(_ROW_OF_ONE, stack=_CAT.format(0).replace("[1,", "[2,"))),
        ),
        Quiet("seven", steps(_batch(count=7))),
        Quiet("once", steps("aten::mm") + _batch()),
        Quiet("little", steps(_batch(), "aten::mm 90000us", lasts_us=None)),
        Quiet("computed", steps(_batch("aten::mul | float[8], float[8]\n" + _SLICE))),
        Quiet("same-place", steps(_batch("aten::select | float[90, 8], =0, =3\n"))),
        Quiet("other-dimension", steps(_batch("aten::slice | float[9, 90], =1, ={}, ={}, =1\n"))),
        Quiet("two-indexes", steps(_batch(_TWO))),
        Quiet("from-lists", steps(_batch(f"aten::to | long[8]\n{_ANY_ARRAY}aten::detach_\n"))),
        Quiet("decoded", steps(_batch(f"aten::item\nread 900us\n{_ARRAY}"))),
        Quiet("in-a-loader", steps(under(frames.FETCH_ALONE, _batch()))),
        Quiet("fewer-than-stacked", steps(_batch(stack=_STACK_OF_20))),
        Abstains("no-shapes", steps("aten::slice\n" * 16 + "aten::stack")),
    )

    def find(self, trace: Trace) -> Matches:
        limits = Limits(self.fewest_items, self.longest_python_us, EASY_WARNING, self.worth_a_word)
        for part, time, is_one in item_batches(trace, limits):
            items = int(np.median([batch.items for batch in part]))
            what = "parts of one tensor or array" if is_one else "arrays"
            stacks = [batch.stack for batch in part]
            host = {int(trace.track_id[stacks[0].row]): time}
            yield Match(
                stacks,
                message=f"a batch is put together from {items} {what}, one by one",
                severity=Severity.WARNING if is_one else Severity.INFO,
                cost=time,
                edit=Edit("one index of all items", host=host, left=_LEFT) if is_one else None,
            )
