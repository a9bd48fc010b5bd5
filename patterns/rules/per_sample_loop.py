"""TDY406: a batch that is worked on one sample at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, NotChecked, Obstacle, Severity
from tidy.replay import Edit
from tidy.trace import Capability, Event, Intervals, Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..base import Pattern
from ..evidence import autograd, edits, frames, launches, loops, places, timing
from ..evidence.op_names import PRODUCTS, RECURRENT, TRAINING_STEPS, VIEWS
from ..evidence.unbound import loops_over_rows
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, under
from ..option import Option, share

Numbers = NDArray[np.int32]

# A form that one round alone has is no branch that the others take too.
_FEWEST_OF_A_FORM = 2
# An op on the CPU that takes less spends most of it on being called.
_MOSTLY_CALLED_NS = 20_000
# What copies or reads a sample, and computes nothing of it.
_NO_WORK = (*VIEWS, "aten::cat", "aten::to", "aten::contiguous", "aten::clone", "aten::copy_")
_NO_WORK += ("aten::item", "aten::resolve_conj", "aten::resolve_neg", "aten::cpu")
_FEWEST_INPUTS = 4  # of aten::slice(self, dim, start, end, step)
_WHICH_UNKNOWN = NotChecked(
    "the trace does not say where slices begin and end",
    "record shapes with PyTorch 2.1 or newer",
)

_SLICE = "aten::slice | float[16, 3, 8, 8], =0, ={}, ={}, =1\n"
_VECTOR = "aten::slice | float[16, 8], =0, ={}, ={}, =1\n"


_ROWS = "aten::unbind | float[16, 8], =0\n"
_SCALED = "aten::mul | float[8], =2\naten::add | float[8], =1\n"
_PICTURES = "aten::unbind | float[16, 3, 8, 8], =0\n"
_CONVOLVED = "aten::conv2d | float[3, 8, 8]\n"


def _rounds(body: str, head: str = _SLICE, count: int = 16, size: int = 1) -> str:
    return "".join(head.format(i * size, (i + 1) * size) + body for i in range(count))


def _forms(*bodies: str) -> str:
    """Rounds that take one of these forms each, in an order that does not repeat soon."""
    return "".join(
        _SLICE.format(i, i + 1) + bodies[(3 * i + i // 4) % len(bodies)] for i in range(16)
    )


class PerSampleLoop(Pattern):
    """A loop works on the samples of a batch one after the other.

    What it does: It finds slices of length one along the first dimension, `x[i : i + 1]`, whose
    start counts up, eight or more, with the same operators after each, of which one computes; a
    branch or two may add operators to some. And it finds `for row in x` with the same operators
    for each row.
    Rounds with a product of vectors, and rows of other than pictures, are info: each may need the
    one before, as in a recurrent network; pictures do not. Loops that index with the counter are
    TDY404, those that concatenate TDY408.
    Why it costs: Each op is called once for every sample, and a GPU has too little to do in each.
    Example: `outs.append(model(x[i : i + 1]))` for each `i`, recorded as

        aten::slice  aten::conv2d  aten::relu  aten::slice  aten::conv2d  aten::relu  ...

    Instead: Give the whole batch to the op or the model, or as much of it as memory holds
    (`x.split(64)`); `torch.vmap` does so for functions of one sample.
    Cannot see: It needs input shapes. It misses loops over lists, and over rows of which some take
    another branch.
    """

    code = "TDY406"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    why_no_edit = "the trace does not tell whether each round needs the one before"
    fix = "give the whole batch to the op, or torch.vmap for a function of one sample"
    fewest_rounds = Option(8, "a batch of fewer samples is about as fast one by one", least=2)
    alike_share = share(0.8, "so many of the rounds are alike: in them nothing else happens")
    most_forms = Option(
        4, "two branches make four forms of a round; rounds of more are something else", least=1
    )
    dims_of_pictures = Option(
        4,
        "what works on one sample of a tensor with so many dimensions is no step of a"
        " recurrent network: pictures, volumes",
    )
    longest_round = Option(
        64,
        "operators for one row of `for row in x`; more are whole models, one after another",
        least=1,
    )
    examples = (
        Fires("pictures", under(FRAME, _rounds("aten::conv2d\naten::relu\n")), at=AT),
        Fires("elementwise", under(FRAME, _rounds("aten::mul\n", _VECTOR)), at=AT),
        Fires(
            "vectors", under(FRAME, _rounds("aten::mm\n", _VECTOR)), at=AT, severity=Severity.INFO
        ),
        Fires("branch", under(FRAME, _forms("aten::mul\n", "aten::flip\naten::mul\n")), at=AT),
        Fires("rows-that-are-pictures", under(FRAME, _PICTURES + _CONVOLVED * 16), at=AT),
        Fires("rows", under(FRAME, _ROWS + _SCALED * 16), at=AT, severity=Severity.INFO),
        Quiet("fewer-rounds-than-rows", _ROWS + _SCALED * 12),
        Quiet("no-row-in-it", _ROWS + _SCALED.replace("[8]", "[9]") * 16),
        Quiet("numbers", "aten::unbind | float[16], =0\n" + "aten::mul | float[]\n" * 16),
        Quiet("copies-of-rows", _ROWS + "aten::to | float[8]\naten::view | float[8]\n" * 16),
        Quiet("half-are-views", _forms("aten::view\n", "aten::mul\n")),
        Quiet("each-another", _forms(*("aten::mul\n" * count for count in range(1, 8)))),
        Quiet("seven", _rounds("aten::conv2d\n", count=7)),
        Quiet("chunks", _rounds("aten::conv2d\n", count=8, size=2)),
        Quiet("same-sample", (_SLICE.format(0, 1) + "aten::conv2d\n") * 16),
        Quiet("views-alone", _rounds("aten::view\n")),
        Quiet("recurrent", _rounds("aten::lstm_cell\n", _VECTOR)),
        Quiet("indexes-too", _rounds("aten::select\naten::mul\n")),
        Quiet("concatenates", _rounds("aten::cat\n")),
        Quiet("micro-batches", _rounds("aten::conv2d\nautograd::engine::evaluate_function: A\n")),
        Quiet("data-set", under(frames.FETCH_ALONE, _rounds("aten::mul\n"))),
        Quiet("other-dimension", _rounds("aten::mul\n", _VECTOR.replace("=0", "=1", 1))),
        Abstains("no-numbers", joined("aten::slice | float[16, 8]\naten::mul\n" * 16)),
        Abstains("no-shapes", joined("aten::slice\naten::mul\n" * 16)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        slices = trace.rows_named("aten::slice")
        inputs = np.unique(trace.inputs_id[slices]).tolist() if len(slices) else []
        known = any(len(trace.inputs.concrete(each)) >= _FEWEST_INPUTS for each in inputs)
        return None if known or len(slices) < self.fewest_rounds else _WHICH_UNKNOWN

    def check(self, trace: Trace) -> Iterable[Finding]:
        alike = attrgetter("location", "is_info")
        found = [*self._loops(trace), *self._loops_over_rows(trace)]
        for walks in places.parts(found, alike, _first):
            time = loops.time_of_rounds(trace, [walk.rows for walk in walks])
            rounds, is_info = sum(walk.rounds for walk in walks), walks[0].is_info
            yield self.report(
                trace,
                [walk.first for walk in walks],
                message=f"{rounds} samples are taken from a batch and worked on one by one"
                + (": batch them if none needs the one before" if is_info else ""),
                severity=Severity.INFO if is_info else Severity.WARNING,
                cost=timing.Cost(time, matters=True),
                location=walks[0].location,
                edit=None if is_info else _batched(trace, walks, time),
            )

    def _loops(self, trace: Trace) -> Iterator[_SampleLoop]:
        slices = autograd.called_by_script(trace, "aten::slice")
        if len(slices) < self.fewest_rounds:
            return
        numbers = np.flatnonzero(np.bincount(trace.inputs_id[slices] + 1)) - 1
        of_one = {number: _one_of(trace, number) for number in numbers.tolist()}
        is_slice = np.zeros(trace.tree_count, bool)
        is_slice[slices] = True
        for track in np.unique(trace.track_id[slices]).tolist():
            ops = launches.ops_in_no_op(trace, track)
            at = np.flatnonzero(is_slice[ops])
            by_tensor: dict[object, list[tuple[int, int]]] = {}
            for place, number in zip(at.tolist(), trace.inputs_id[ops[at]].tolist(), strict=True):
                if (one := of_one[number]) is not None:
                    by_tensor.setdefault(one[0], []).append((place, one[1]))
            taken = np.zeros(len(ops) + 1, bool)
            for shape, taken_at in by_tensor.items():
                for run in _counting_up(taken_at):
                    walk = self._sample_loop(trace, ops, run, shape)
                    # Of several slices in a round the first stands for it.
                    if walk is not None and not taken[run[0] : run[-1]].any():
                        taken[run[0] : run[-1] + 1] = True
                        yield walk

    def _loops_over_rows(self, trace: Trace) -> Iterator[_SampleLoop]:
        computes = ~launches.has_name(trace, *_NO_WORK)
        for loop in loops_over_rows(trace, self.fewest_rounds, self.longest_round):
            kind = trace.name_id[loop.one_round]
            has_samples = len(loop.dims) > 1  # not single numbers
            if has_samples and computes[kind].any() and not self._is_another(trace, kind):
                is_info = len(loop.dims) < self.dims_of_pictures
                first = trace.event(int(loop.ops[0]))
                yield _SampleLoop(loop.ops, loop.rounds, first, first.location, is_info)

    @staticmethod
    def _is_another(trace: Trace, names: Numbers) -> bool:
        """Whether rounds with these operators are training steps, or need the one before."""
        called = {trace.names[number] for number in names.tolist()}
        is_step = launches.has_name(trace, *TRAINING_STEPS)[names].any()
        return bool(is_step or "aten::select" in called or called & RECURRENT)

    def _sample_loop(
        self, trace: Trace, ops: Rows, run: list[int], shape: object
    ) -> _SampleLoop | None:
        """The loop that a stretch is, None where the rounds differ or do something else."""
        if len(run) < self.fewest_rounds:
            return None
        names = trace.name_id[ops]
        kinds = self._kinds_of_rounds(trace, names, run)
        if not kinds:
            return None
        in_rounds = np.unique(np.concatenate(kinds))
        if self._is_another(trace, in_rounds):
            return None
        one_round = {trace.names[number] for number in in_rounds.tolist()}
        rows = ops[run[0] : run[-1] + len(_last_round(names[run[-1] :], kinds))]
        few = isinstance(shape, tuple) and len(shape) < self.dims_of_pictures
        first = trace.event(int(rows[0]))
        return _SampleLoop(
            rows, len(run), first, first.location, bool(one_round & PRODUCTS) and few
        )

    def _kinds_of_rounds(self, trace: Trace, names: Numbers, run: list[int]) -> list[Numbers]:
        """The operators of a round; several forms of it where a branch adds to some rounds.

        Nothing where the rounds have more forms, or compute nothing.
        """
        computes = ~launches.has_name(trace, *_NO_WORK)
        rounds = Counter(names[first:last].tobytes() for first, last in pairwise(run))
        kinds, count = list[Numbers](), 0
        for form, times in rounds.most_common(self.most_forms):
            kind = np.frombuffer(form, names.dtype)
            if times >= _FEWEST_OF_A_FORM and computes[kind].any():
                kinds.append(kind)
                count += times
        return kinds if count >= self.alike_share * (len(run) - 1) else []


@dataclass(frozen=True, slots=True)
class _SampleLoop:
    """A loop over samples: its ops from the first slice on, and where it is."""

    rows: Rows
    rounds: int
    first: Event
    location: Location | None
    is_info: bool


_first = attrgetter("first")


def _last_round(names: Numbers, kinds: Sequence[Numbers]) -> Numbers:
    """The longest form of a round that these names begin with, else the most usual one."""
    fitting = [kind for kind in kinds if np.array_equal(names[: len(kind)], kind)]
    return max(fitting, key=len, default=kinds[0])


def _batched(trace: Trace, walks: Sequence[_SampleLoop], time: Intervals) -> Edit:
    """The calls are those of a round or a few; the work of all samples stays, done in larger ops.

    How much faster that is, shapes do not tell: of ops that are called more than they compute, most
    goes.
    """
    rows = np.concatenate([walk.rows for walk in walks])
    host = {int(trace.track_id[rows[0]]): time}
    if trace.devices_used:
        rounds = min(walk.rounds for walk in walks)
        work = edits.work_below(trace, rows)
        return Edit("one batch", host, work, left=(1 / rounds, 4 / rounds), work_left=(0.25, 1.0))
    computing = rows[~launches.has_name(trace, *VIEWS)[trace.name_id[rows]]]
    is_called = float(np.median(trace.duration_ns[computing])) < _MOSTLY_CALLED_NS
    return Edit("one batch", host, left=(0.1, 0.6) if is_called else (0.4, 1.0))


def _one_of(trace: Trace, inputs: int) -> tuple[object, int] | None:
    """The shape that one sample is sliced from, and which; None for other slices."""
    values = trace.inputs.concrete(inputs)
    if len(values) < _FEWEST_INPUTS or str(values[1]) != "0":
        return None
    start, end = str(values[2]), str(values[3])
    if not (start.isdigit() and end.isdigit()) or int(end) - int(start) != 1:
        return None
    shapes = trace.inputs.shapes(inputs)
    return (shapes[0], int(start)) if shapes and is_dims(shapes[0]) else None


def _counting_up(taken: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Stretches in which samples follow each other: where each sample is first sliced."""
    run: list[int] = []
    before = -1
    for place, sample in taken:
        if run and sample == before:
            continue
        if run and sample != before + 1:
            yield run
            run = []
        run.append(place)
        before = sample
    if run:
        yield run
