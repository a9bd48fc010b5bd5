"""TDY406: a batch that is worked on one sample at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Location, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.fixes import edits
from ..evidence.fixes.counted_loops import Forms
from ..evidence.fixes.sample_loops import (
    FEWEST_INPUTS,
    SampleLoop,
    loops_over_rows,
    loops_over_slices,
)
from ..evidence.python import frames, op_names, places
from ..evidence.time.rounds import Rounds, count_text, with_backward
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, steps, under
from ..option import Option, alike_rounds, most_forms_of_rounds

# An op on the CPU that takes less spends most of it on being called.
_MOSTLY_CALLED_NS = 20_000
_WHICH_UNKNOWN = NotChecked(
    "the trace does not say where slices begin and end", "record shapes with PyTorch 2.1 or newer"
)
# What is taken, from what, and what to do with all of it at once.
_OF_SAMPLES, _OF_BATCHES = ("samples", "batch", "batch"), ("batches", "tensor", "join")

_SLICE = "aten::slice | float[16, 3, 8, 8], =0, ={}, ={}, =1\n"
_VECTOR = "aten::slice | float[16, 8], =0, ={}, ={}, =1\n"

_CACHED = _VECTOR + "aten::slice | float[4, 32, 8], =1, =0, ={}, =1\naten::bmm\n"

_ROWS = "aten::unbind | float[16, 8], =0\n"
_SCALED = "aten::mul | float[8], =2\naten::add | float[8], =1\n"
_PICTURES = "aten::unbind | float[16, 3, 8, 8], =0\n"
_CONVOLVED = "aten::conv2d | float[3, 8, 8]\n"
_BATCHES = "aten::unbind | float[16, 4, 3, 8, 8], =0\n"
_BATCH = "aten::conv2d{} | float[{}, 3, 8, 8], float[6, 3, 3, 3]\n"
_TRAINED = _BATCH.format(" seq=1", 32) + under(
    "autograd::engine::evaluate_function: ConvolutionBackward0 > ConvolutionBackward0 seq=1/1"
)

_NODE = "autograd::engine::evaluate_function: "
_GRADIENT = f"aten::conv2d\n{_NODE}SumBackward0\naten::square\n"
_COLLECTS = "torch::autograd::AccumulateGrad"
_COLLECTED = _GRADIENT + under(f"{_NODE}{_COLLECTS} > {_COLLECTS}")


def _rounds(body: str, head: str = _SLICE, count: int = 16, size: int = 1) -> str:
    return "".join(head.format(i * size, (i + 1) * size) + body for i in range(count))


def _forms(*bodies: str) -> str:
    """Rounds that take one of these forms each, in an order that does not repeat soon."""
    each = (bodies[(3 * i + i // 4) % len(bodies)] for i in range(16))
    return "".join(_SLICE.format(i, i + 1) + body for i, body in enumerate(each))


_ASKED = "aten::sum | float[8]\naten::item\n"
_BRANCHES = "".join(
    _ASKED + ("aten::mul | float[8]\n" if (3 * at + at // 4) % 2 else "") for at in range(16)
)
_EACH_ANOTHER = "".join(_ASKED + "aten::mul | float[8]\n" * (at // 2) for at in range(16))


class PerSampleLoop(Pattern):
    """A loop works on the samples of a batch one after the other.

    What it does: It finds slices of length one along the first dimension, `x[i : i + 1]`, whose
    start counts up, eight or more, with the same operators after each, of which one computes; a
    branch or two may add operators to some. And it finds `for row in x` with the same operators
    for each row, but for such branches.
    Rounds with a product of vectors, and rows of other than pictures, are info: each may need the
    one before, as in a recurrent network; pictures do not. Rows that are batches of pictures are
    info, too, and batches that training takes at once, but for their size, are left alone. Loops
    that index with the counter are TDY404, those that concatenate TDY408. Rounds that read a longer
    part of a tensor each, as a decoder with a cache does, are not reported, nor are loops outside
    of the steps that take no longer than a step, nor micro-batches, each with a backward that adds
    to the gradients of parameters. Rounds that `torch.autograd.grad` ends are info.
    Why it costs: Each op is called once for every sample, in a backward too, and a GPU has too
    little to do in each.
    Example: `outs.append(model(x[i : i + 1]))` for each `i`, recorded as

        aten::slice  aten::conv2d  aten::relu  aten::slice  aten::conv2d  aten::relu  ...

    Instead: Give the whole batch to the op or the model, or as much of it as memory holds
    (`x.split(64)`); `torch.vmap` does so for functions of one sample, also for those that
    `torch.func.grad` makes.
    Cannot see: It needs input shapes. It misses loops over lists, and branches that leave a round
    without an operator in common.
    """

    code = "TDY406"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "the trace does not tell whether each iteration needs the one before"
    fix = "give the whole batch to the op, or torch.vmap for a function of one sample"
    fewest_rounds = Option(8, "a batch of fewer samples is about as fast one by one", least=2)
    alike_share, most_forms = alike_rounds(), most_forms_of_rounds()
    dims_of_pictures = Option(
        4, "samples of tensors with so many dims are pictures or volumes, no recurrent network's"
    )
    longest_round = Option(
        64, "operators for one row of `for row in x`; more are whole models", least=1
    )
    examples = (
        Fires("pictures", under(FRAME, _rounds("aten::conv2d\naten::relu\n")), at=AT),
        Fires("elementwise", under(FRAME, _rounds("aten::mul\n", _VECTOR)), at=AT),
        Fires("vectors", under(FRAME, _rounds("aten::mm\n", _VECTOR)), 1, AT, Severity.INFO),
        Fires("branch", under(FRAME, _forms("aten::mul\n", "aten::flip\naten::mul\n")), at=AT),
        Fires("rows-that-are-pictures", under(FRAME, _PICTURES + _CONVOLVED * 16), at=AT),
        Fires("rows", under(FRAME, _ROWS + _SCALED * 16), at=AT, severity=Severity.INFO),
        Fires("branch-by-row", under(FRAME, _ROWS + _BRANCHES), at=AT, severity=Severity.INFO),
        Fires("zip", under(FRAME, _ROWS * 2 + _SCALED * 16), at=AT, severity=Severity.INFO),
        Fires("batches", under(FRAME, _BATCHES + _BATCH.format("", 4) * 16), 1, AT, Severity.INFO),
        Quiet("batches-as-in-training", _TRAINED + _BATCHES + _BATCH.format("", 4) * 16),
        Fires(
            "samples-of-what-is-trained",
            _TRAINED + under(FRAME, _PICTURES + _CONVOLVED * 16),
            1,
            AT,
        ),
        Quiet("other-work-by-row", _ROWS + _EACH_ANOTHER),
        Quiet("fewer-rounds-than-rows", _ROWS + _SCALED * 12),
        Quiet("no-row-in-it", _ROWS + _SCALED.replace("[8]", "[9]") * 16),
        Quiet("numbers", "aten::unbind | float[16], =0\n" + "aten::mul | float[]\n" * 16),
        Quiet("copies-of-rows", _ROWS + "aten::to | float[8]\naten::view | float[8]\n" * 16),
        Quiet("half-are-views", _forms("aten::view\n", "aten::mul\n")),
        Quiet("each-another", _forms(*("aten::mul\n" * count for count in range(1, 8)))),
        Quiet("seven", _rounds("aten::conv2d\n", count=7)),
        Quiet("chunks", _rounds("aten::conv2d\n", count=8, size=2)),
        Fires("gradients", under(FRAME, _rounds(_GRADIENT)), 1, AT, Severity.INFO),
        Quiet("micro-batches", under(FRAME, _rounds(_COLLECTED))),
        Quiet("steps-by-hand", under(FRAME, _rounds(_GRADIENT + "aten::sub_\n"))),
        Quiet("rows-of-a-jacobian", under(FRAME, _rounds(_GRADIENT.split("\n", 1)[1]))),
        Quiet("same-sample", (_SLICE.format(0, 1) + "aten::conv2d\n") * 16),
        Quiet("views-alone", _rounds("aten::view\n")),
        Quiet("recurrent", _rounds("aten::lstm_cell\n", _VECTOR)),
        Quiet("indexes-too", _rounds("aten::select\naten::mul\n")),
        Quiet("concatenates", _rounds("aten::cat\n")),
        Quiet("decodes", under(FRAME, "".join(_CACHED.format(i, i + 1, i + 1) for i in range(16)))),
        Quiet("once-before-the-steps", under(FRAME, _ROWS + _SCALED * 16) + steps("aten::mm 9ms")),
        Quiet("data-set", under(frames.FETCH_ALONE, _rounds("aten::mul\n"))),
        Quiet("other-dimension", _rounds("aten::mul\n", _VECTOR.replace("=0", "=1", 1))),
        Abstains("no-numbers", joined("aten::slice | float[16, 8]\naten::mul\n" * 16)),
        Abstains("no-shapes", joined("aten::slice\naten::mul\n" * 16)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        slices = trace.rows_named("aten::slice")
        inputs = np.unique(trace.inputs_id[slices]).tolist() if len(slices) else []
        known = any(len(trace.inputs.concrete(each)) >= FEWEST_INPUTS for each in inputs)
        return None if known or len(slices) < self.fewest_rounds else _WHICH_UNKNOWN

    def find(self, trace: Trace) -> Matches:
        forms = Forms(self.alike_share, self.most_forms)
        slices = loops_over_slices(trace, self.fewest_rounds, forms)
        rows = loops_over_rows(trace, self.fewest_rounds, self.longest_round, forms)

        def is_info(loop: SampleLoop) -> bool:
            is_recurrent = loop.is_maybe_recurrent and len(loop.dims) < self.dims_of_pictures
            return is_recurrent or loop.takes_batches or loop.takes_gradients

        def first_of(loop: SampleLoop) -> Event:
            return trace.event(int(loop.ops[0]))

        def kind_of(loop: SampleLoop) -> tuple[Location | None, bool, bool]:
            return loop.location, is_info(loop), loop.takes_batches

        for walks in places.parts([*slices, *rows], kind_of, first_of):
            rounds = with_backward(trace, [walk.ops for walk in walks])
            if _is_short_and_outside(trace, walks[0], rounds):
                continue
            count, maybe = sum(walk.rounds for walk in walks), is_info(walks[0])
            taken, source, at_once = _OF_BATCHES if walks[0].takes_batches else _OF_SAMPLES
            counted = count_text(trace, count, taken, [walk.ops for walk in walks])
            what = f": {at_once} them if none needs the one before" if maybe else ""
            yield Match(
                list(map(first_of, walks)),
                f"{counted} are taken from a {source} and worked on one by one{what}",
                severity=Severity.INFO if maybe else Severity.WARNING,
                cost=rounds.time,
                location=walks[0].location,
                edit=None if maybe else _batched(trace, walks, rounds),
            )


def _is_short_and_outside(trace: Trace, walk: SampleLoop, rounds: Rounds) -> bool:
    """Tell whether loops are outside of the steps and take no longer than one, as preparations."""
    step_ns = trace.step_time.total_ns / max(trace.window.step_count, 1)
    return rounds.time.total_ns <= step_ns and not trace.in_window(walk.ops[:1])[0]


def _batched(trace: Trace, walks: Sequence[SampleLoop], rounds: Rounds) -> Edit:
    """The calls are those of a round or a few; the work of all samples stays, done in larger ops.

    How much faster that is, shapes do not tell: of ops that are called more than they compute, most
    goes.
    """
    if trace.devices_used:
        a_round = 1 / min(walk.rounds for walk in walks)
        work = edits.work_of(trace, Events(trace, rounds.rows))
        left = a_round, 4 * a_round
        return Edit("one batch", rounds.host, work, left=left, work_left=(0.25, 1.0))
    rows = np.concatenate([walk.ops for walk in walks])
    computing = rows[~launches.has_name(trace, *op_names.VIEWS)[trace.name_id[rows]]]
    is_called = float(np.median(trace.duration_ns[computing])) < _MOSTLY_CALLED_NS
    return Edit("one batch", rounds.host, left=(0.1, 0.6) if is_called else (0.4, 1.0))
