"""TDY403: elementwise operators that run one by one over the same elements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.account.op_nbytes import Moved, computes_elementwise, moved
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Intervals, Location, Rows, Trace, number_text

from ..base import DevicePattern, Match, Matches
from ..evidence.python import loops, places
from ..evidence.python.op_names import aten
from ..evidence.time import timing
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..option import WORTH_A_WARNING, Option, warning_share, word_share

_Call = tuple[str, int]  # the name of an operator and the number of its inputs
_MOST_OPS = 64
# In place on a value that has just been made; others may each be of another parameter.
_IN_PLACE = aten("div_ masked_fill_ clamp_ clamp_min_ relu_ sigmoid_ tanh_")
_CAST = "aten::copy_"
# They take a whole tensor to a smaller one, in a kernel that can compute what comes before, too.
_REDUCTIONS = aten("mean sum var amax")
_JOINS = frozenset({"aten::cat"})  # their bytes are not known: lists of tensors have no dtypes
_OPTIMIZER = "Optimizer.step#*"
_BREAK, _NEUTRAL = -1, 0

# In a compiled region what can be fused is.
_COMPILED = re.compile(r"Torch-Compiled|Compiled(Fx|Function)|triton")
# A compiled function checks its guards and looks up its kernel: it takes the host as long as some
# five operators, where F.gelu takes as long as one.
_OPS_OF_A_CALL = 5
_MOST_NAMES = 6
_MEANS, _ROOTS = {"mean", "var"}, {"rsqrt", "sqrt"}
_GIGA = 1e9

_T = "float[64, 1024, 64]"
_ROW = "float[64, 1024, 1]"


def _op(name: str, *inputs: str, takes_us: int = 90) -> str:
    return launch(f"aten::{name} | {', '.join(inputs)}", f"elementwise_kernel {takes_us}us")


_GELU = joined(
    _op("pow", _T, "=3"), _op("mul", _T, "double[]"), _op("add", _T, _T), _op("tanh", _T)
)
_MEAN = launch(f"aten::mean | {_T}, =[-1]", "reduce_kernel 90us")
_NORM = joined(
    _op("pow", _T, "=2"), _MEAN, _op("add", _ROW, "double[]"), _op("rsqrt", _ROW),
    _op("mul", _T, _ROW), _op("mul", "float[64]", _T),
)  # fmt: skip
_SMALL = "float[64, 64]"
_SHORT = joined(_op("mul", _SMALL, _SMALL), _op("add", _SMALL, _SMALL), _op("tanh", _SMALL))
_PRODUCT = launch("aten::mm | float[64, 64], float[64, 64]", "sgemm 90us")
_PARTED = joined(_op("mul", _T, _T), _PRODUCT, _op("add", _T, _T), _PRODUCT, _op("tanh", _T))
_UPDATES = joined(*[_op("mul", _T, "double[]") + _op("sub", _T, _T)] * 4)
_GRADIENTS = joined(*[_op("add_", _T, _T)] * 4)


class UnfusedChain(DevicePattern):
    """Elementwise operators run one by one over the same elements, which are read again each time.

    What it does: It finds three or more elementwise operators that follow each other over tensors
    of the same dims, of 65,536 elements or more, with nothing between them but what works on a part
    of them (means, roots, joins), and counts their bytes. A chain over several lines is shown at
    the one that moves most of them. Operators of an optimizer, in compiled regions, and in place on
    what may be other tensors are left alone; so are rounds of one or two, such as updates of one
    parameter after the other, and what takes less than 1 % of the time.
    Why it costs: Each of them reads its inputs from memory and writes its result there. One kernel
    reads the first input and writes the last result. Each is launched, too.
    Example: `0.5 * x * (1 + torch.tanh(0.8 * (x + 0.045 * x**3)))`, recorded as

        aten::pow, aten::mul, aten::add, aten::mul, aten::tanh, ...    Input Dims alike
          => an elementwise kernel each

    Instead: Put `torch.compile` on the function. Where PyTorch has the whole, call it: `F.gelu`,
    `F.layer_norm`, `F.rms_norm`.
    Cannot see: The trace has dims and no tensors: operators over tensors of the same dims that have
    nothing to do with each other look alike (they could share a kernel, and save less). What
    autograd keeps for the backward is written in any case: at worst half of the saving is left. A
    compiled function takes the host as long as some operators: where the GPU waits for launches, a
    short chain may gain nothing by it, unless more is compiled with it.
    """

    code = "TDY403"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    fix = "torch.compile, or the whole as one call (F.gelu, F.layer_norm, F.rms_norm)"
    fewest_elements = Option(
        1 << 16, "fewer elements take the time of a launch, however many bytes they have", least=1
    )
    fewest_ops = Option(3, "two operators one after the other are as often none to fuse", least=2)
    worth_a_word = word_share(0.01, "a chain")
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("gelu", on_gpu(_GELU, frame=FRAME), at=AT),
        Fires("normalisation", on_gpu(_NORM, frame=FRAME), at=AT),
        Quiet("small", on_gpu(_SHORT)),
        Quiet("products-between", on_gpu(_PARTED)),
        Quiet("one-parameter-after-the-other", on_gpu(_UPDATES)),
        Quiet("gradients-in-place", on_gpu(_GRADIENTS)),
        Quiet("in-the-optimizer", on_gpu(under("Optimizer.step#SGD.step", _GELU))),
        Quiet("compiled", on_gpu(under("Torch-Compiled Region: 0/0", _GELU))),
        Quiet("little-before-the-steps", on_gpu(_GELU, steps(WORK, lasts_us=90_000))),
        Quiet("next-to-no-time", on_gpu(_GELU, _op("erfinv", _T, takes_us=90_000))),
        Abstains("no-shapes", on_gpu(launch("aten::mul", "elementwise_kernel 90us"))),
        Abstains("cpu-run", f"aten::mul | {_T}, {_T}"),
    )

    def find(self, trace: Trace) -> Matches:
        found = _placed(trace, _chains(trace, self.fewest_elements, self.fewest_ops))
        for placed in places.parts(
            found, lambda each: (each.op.location, each.chain.names), attrgetter("op")
        ):
            part = [each.chain for each in placed]
            rows = [row for chain in part for row in chain.kernels]
            little = timing.part_of_window(trace, trace.time_of(rows)) < self.worth_a_word
            above = trace.event(part[0].ops[0]).ancestors()
            if little or any(_COMPILED.search(each.name) for each in above):
                continue
            now = sum(chain.nbytes for chain in part)
            needed = sum(chain.fused_nbytes for chain in part)
            # Half of the saving is left where the backward needs what is between.
            best = min(needed / max(now, 1), 1.0)
            edit = Edit(
                "one kernel for all",
                _host_of_the_rest(trace, part),
                rows,
                left=(0.0, min(_OPS_OF_A_CALL / (len(part[0].names) - 1), 1.0)),
                work_left=(best, (1 + best) / 2),
            )
            ops = [each.op for each in placed]
            yield Match(ops, _message(part[0], now, needed), rows, edit)


def _host_of_the_rest(trace: Trace, chains: Sequence[_Chain]) -> dict[int, Intervals]:
    """The host's time for all operators of chains but the first of each, by thread."""
    rest = [np.array(chain.ops[1:]) for chain in chains]
    by_track = places.grouped(rest, lambda ops: int(trace.track_id[ops[0]]))
    return {int(trace.track_id[own[0][0]]): loops.time_of_rounds(trace, own) for own in by_track}


def _message(chain: _Chain, now: int, needed: int) -> str:
    names = [name for name, _ in Counter(chain.names).most_common()]
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    by_hand = _MEANS & set(names) and _ROOTS & set(names)
    what = "a normalisation by hand" if by_hand else f"{len(chain.names)} operators one by one"
    sizes = "x".join(map(str, chain.dims))
    spared = f"{number_text(now / _GIGA)} GB where {number_text(needed / _GIGA)} would do"
    return f"{what} ({shown}) over {sizes}: {spared}"


class _Chain(NamedTuple):
    """Operators that a single kernel could compute.

    Attributes:
        ops: their rows, by start.
        kernels: their kernels' rows.
        names: of the operators, without `aten::`.
        dims: of the tensors.
        nbytes_of_ops: what each reads and writes, 0 where that is not known.
        fused_nbytes: what one kernel would: what comes from elsewhere, and the result.
    """

    ops: tuple[int, ...]
    kernels: tuple[int, ...]
    names: tuple[str, ...]
    dims: tuple[int, ...]
    nbytes_of_ops: tuple[int, ...]
    fused_nbytes: int

    @property
    def nbytes(self) -> int:
        """Return what all of them read and write."""
        return sum(self.nbytes_of_ops)


class _Placed(NamedTuple):
    """A chain, and that of its operators whose line is shown."""

    op: Event
    chain: _Chain


def _placed(trace: Trace, chains: Iterable[_Chain]) -> Iterator[_Placed]:
    """Place each chain at the line that moves most of its bytes; of equal ones, of most operators.

    Bytes are the same in each recording, where times of like operators are not. Chains of the same
    operators at the same lines are at one place.
    """

    def lines(chain: _Chain) -> tuple[tuple[str, ...], tuple[Location | None, ...]]:
        return chain.names, tuple(map(trace.location, chain.ops))

    for same in places.grouped(chains, lines):
        locations = lines(same[0])[1]
        weights = dict[Location, tuple[int, int]]()
        for location, *nbytes in zip(
            locations, *(each.nbytes_of_ops for each in same), strict=True
        ):
            if location is not None:
                before, count = weights.get(location, (0, 0))
                weights[location] = before + sum(nbytes), count + 1
        place = max(weights, key=weights.__getitem__, default=None)
        at = locations.index(place)
        yield from (_Placed(trace.event(each.ops[at]), each) for each in same)


def _chains(trace: Trace, fewest_elements: int, fewest_ops: int) -> Iterator[_Chain]:
    """All chains outside of optimizers, by start on each thread."""
    kernels = trace.rows_of_kind(EventKind.Kernel)
    ops = trace.launching_ops(kernels)
    kernels, ops = kernels[ops >= 0], ops[ops >= 0]
    if not len(kernels):
        return
    order = np.lexsort((kernels, trace.start_ns[ops], trace.track_id[ops]))
    kernels, ops = kernels[order], ops[order]
    # An operator on very large tensors runs as several kernels, each on a part of them.
    fresh = np.flatnonzero(np.diff(ops, prepend=-1))
    ops, bounds = ops[fresh], np.append(fresh, len(kernels))
    moves: dict[_Call, Moved | None] = {}

    def elements(name: str, inputs_id: int) -> int:
        """Count those of the tensors of a member; a code for what is none, or breaks a chain."""
        if name in _JOINS:
            return _NEUTRAL
        move = moves[name, inputs_id] = _member(trace, name, inputs_id)
        return prod(move.dims) if move is not None else _BREAK

    size = trace.by_call(ops, elements)
    steps = trace.rows_named(_OPTIMIZER)
    in_step = trace.time_of(steps[steps < trace.tree_count]).contains(trace.start_ns[ops])
    size[in_step] = _BREAK
    new_track = np.append(True, np.diff(trace.track_id[ops]) != 0)
    calls = np.stack([trace.name_id[ops], trace.inputs_id[ops]], 1)
    known = dict[bytes, list[_ChainOfCalls]]()  # layers have the same operators
    for low, high in _without_breaks(size, new_track, fewest_ops):
        same = calls[low:high].tobytes()
        if same not in known:
            sizes = size[low:high].tolist()
            named = [(trace.names[name], inputs) for name, inputs in calls[low:high].tolist()]
            known[same] = list(_parts(named, sizes, moves, fewest_elements, fewest_ops))
        for each in known[same]:
            first, last = low + each.first, low + each.last
            rows = kernels[bounds[first] : bounds[last]].tolist()
            yield _Chain(
                tuple(ops[first:last].tolist()),
                tuple(rows),
                each.names,
                each.dims,
                each.nbytes_of_ops,
                each.fused_nbytes,
            )


def _member(trace: Trace, name: str, inputs_id: int) -> Moved | None:
    """Tell what an operator moves that may be a part of a chain."""
    inputs = trace.inputs
    if name in _REDUCTIONS:
        whole = moved("aten::neg", inputs, inputs_id)
        return whole and Moved(whole.dims, whole.read, 0)
    if name == _CAST:
        dtypes = inputs.dtypes(inputs_id)[:2]
        return moved(name, inputs, inputs_id) if len(set(dtypes)) == 2 else None
    if computes_elementwise(name) or name in _IN_PLACE:
        return moved(name, inputs, inputs_id)
    return None


def _without_breaks(
    size: Rows, new_track: NDArray[np.bool_], fewest_ops: int
) -> Iterator[tuple[int, int]]:
    """[low, high) of so many neighbours or more on one thread that no operator parts."""
    goes_on = size != _BREAK
    begins = goes_on & (~np.append(False, goes_on[:-1]) | new_track)
    ends = goes_on & (~np.append(goes_on[1:], False) | np.append(new_track[1:], True))
    bounds = np.stack([np.flatnonzero(begins), np.flatnonzero(ends) + 1], 1)
    yield from bounds[bounds[:, 1] - bounds[:, 0] >= fewest_ops].tolist()


def _stretches(size: list[int], fewest_elements: int) -> Iterator[tuple[int, int]]:
    """[first, last) of neighbours over one size, with smaller ones among them."""
    first, whole = -1, 0
    for at, elements in enumerate(size):
        if first >= 0 and (elements == whole or 2 * elements <= whole):
            continue
        if first >= 0:
            yield first, at
        first, whole = (at, elements) if elements >= fewest_elements else (-1, 0)
    if first >= 0:
        yield first, len(size)


class _ChainOfCalls(NamedTuple):
    """A chain, by the numbers [first, last) of its operators among their neighbours."""

    first: int
    last: int
    names: tuple[str, ...]
    dims: tuple[int, ...]
    nbytes_of_ops: tuple[int, ...]
    fused_nbytes: int


def _parts(
    calls: list[_Call],
    size: list[int],
    moves: dict[_Call, Moved | None],
    fewest_elements: int,
    fewest_ops: int,
) -> Iterator[_ChainOfCalls]:
    """The chains among neighbours; of a loop over tensors of one size that of each round."""
    for first, end in _stretches(size, fewest_elements):
        sizes, whole = size[first:end], size[first]
        last = len(sizes) - sizes[::-1].index(whole)
        names = [name for name, _ in calls[first : first + last]]
        if not fewest_ops <= last <= _MOST_OPS or (period := _period(names)) < fewest_ops:
            continue
        for start in range(0, last, period):
            part = slice(start, min(start + period, last))
            if sizes[part].count(whole) < fewest_ops:
                continue
            own = slice(first + start, first + part.stop)
            each_move = list(map(moves.get, calls[own]))
            known = [move for move in each_move if move is not None]
            short = tuple(name.removeprefix("aten::") for name in names[part])
            nbytes = tuple(0 if move is None else move.nbytes for move in each_move)
            dims, fused = known[0].dims, _fused_nbytes(known)
            yield _ChainOfCalls(own.start, own.stop, short, dims, nbytes, fused)


def _period(names: Sequence[str]) -> int:
    """After how many operators the names begin again; their number where they do not."""
    for period in range(1, len(names) // 2 + 1):
        if names[period:] == names[:-period]:
            return period
    return len(names)


def _fused_nbytes(known: list[Moved]) -> int:
    """Add up what is not the result before, of which each has one as input, and the last result."""
    others = sum(sum(move.read) - max(move.read, default=0) for move in known[1:])
    return sum(known[0].read) + others + known[-1].written
