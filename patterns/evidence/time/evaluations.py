"""Calls of a model without gradients, in most steps, of which its training uses nothing.

A teacher is another module. Of pseudo labels, negatives and targets memory stays until training
takes it; what goes through Python, as actions of an agent do, comes back in tensors made of it.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import FixPlace
from tidy.trace import Capability, Event, EventKind, Intervals, Location, Rows, Trace, rows_of
from tidy.trace.inputs import ITEM_NBYTES, is_dims
from tidy.trace.kept import kept
from tidy.trace.location import is_user_file, parse_frame

from ..device import updates
from ..device.autograd import NODE, calls_of, forward_links
from ..device.launches import below, has_name, holds, outermost_rows, tree_rows
from ..device.memory import CPU, devices_with_memory, of_device
from ..python import frames, loops, places
from ..python.op_names import aten

_NUMBER_NBYTES = 8  # a loss that is kept to be logged, unless a forward takes it
_MOST_READS = 8  # of what a function returned: `sample(model).float().mean().item()` has three
_BLOCK_NBYTES = 512  # in which allocators of devices give memory
_VIEWS = aten("select slice narrow view t transpose unsqueeze detach")  # a part is written to
_FILLS = aten("zero_ _foreach_zero_ fill_ normal_ uniform_ random_ bernoulli_ detach_ resize_")
_ITEM_SIZES = sorted(set(ITEM_NBYTES.values()))
_NEVER_NS = np.iinfo(np.int64).max
_NEEDS = frozenset({Capability.SHAPES, Capability.MEMORY, Capability.STEPS})


class Evaluation(NamedTuple):
    """Calls of a model at one place, in most steps.

    Attributes:
        calls: those of the module, by start.
        time: from the first call of a step to the end of its last one, with the function around.
        step_count: in how many steps of the trace they are.
        location: where the model is called.
        called_at: the line of the training that calls the function around; None if unknown.
    """

    calls: list[Event]
    time: Intervals
    step_count: int
    location: Location | None
    called_at: FixPlace | None


@kept
def in_most_steps(trace: Trace) -> tuple[Evaluation, ...]:
    """Return all such calls, in three steps or more and in two thirds of them."""
    if not trace.capabilities >= _NEEDS:
        return ()
    trained = _trained_rows(trace)
    found = list[Evaluation]()
    calls = trace.events(_without_gradients(trace).tolist())
    for same in places.grouped(calls, lambda event: event.location):
        stretches = _stretches(trace, same, trained)
        is_rare = not loops.are_most_steps(trace, len(stretches.starts_ns))
        if is_rare or _trains_in(trace, stretches, trained):
            continue
        if not _is_taken(trace, stretches, trained) and not _comes_back(trace, same[0], stretches):
            time = Intervals(stretches.starts_ns, stretches.ends_ns)
            count, location = len(stretches.starts_ns), _location(same[0])
            found.append(Evaluation(same, time, count, location, _called_at(same, trained)))
    return tuple(found)


class _Stretches(NamedTuple):
    """The calls of each step, with the functions around them that train nothing.

    Attributes:
        starts_ns, ends_ns: of each step's first and last one.
        are_functions: whether all calls have such a function around them.
    """

    starts_ns: NDArray[np.int64]
    ends_ns: NDArray[np.int64]
    are_functions: bool

    def contain(self, times_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each time whether it is in one of them."""
        return Intervals(self.starts_ns, self.ends_ns).contains(times_ns)


def _trained_rows(trace: Trace) -> Rows:
    """Operators that a backward uses, those of the backward, and steps of optimizers, ascending."""
    forward = forward_links(trace)[:, 1]
    return np.union1d(forward, tree_rows(trace, f"{NODE}*", updates.STEP))


def _without_gradients(trace: Trace) -> Rows:
    """Outermost calls in steps that record no gradient, of modules that most steps train."""
    modules = np.sort(tree_rows(trace, "nn.Module: *"))
    modules = modules[loops.step_of(trace, trace.start_ns[modules]) >= 0]
    names = trace.name_id[modules]
    forward = forward_links(trace)[:, 1]
    is_trained = holds(trace, modules, forward)
    step_counts = {
        name: loops.count_steps(trace, trace.start_ns[modules[is_trained & (names == name)]])
        for name in np.unique(names[is_trained]).tolist()
    }
    trained = [name for name, count in step_counts.items() if loops.are_most_steps(trace, count)]
    rows = outermost_rows(trace, modules)
    rows = rows[np.isin(trace.name_id[rows], trained)]
    with_nodes = np.flatnonzero(trace.sequence_nr[: trace.tree_count] >= 0)
    rows = rows[~holds(trace, rows, np.union1d(with_nodes, _updates_of_statistics(trace)))]
    # What runs again in a backward is a checkpoint, whose first run records no gradient.
    again = modules[below(trace, tree_rows(trace, f"{NODE}*")).contains(modules)]
    rows = rows[~np.isin(trace.name_id[rows], trace.name_id[again])]
    others = np.append(tree_rows(trace, frames.FETCH, f"{NODE}*", updates.STEP), forward)
    alone: Rows = rows[~below(trace, others).contains(rows)]
    return alone


def _updates_of_statistics(trace: Trace) -> Rows:
    """Return where batch norms count their batches, as they do if they update their statistics."""
    norms = below(trace, tree_rows(trace, "nn.Module: *BatchNorm*"))
    counts = tree_rows(trace, "aten::add_", "aten::add")
    found: Rows = counts[norms.contains(counts)]
    return found


def _stretches(trace: Trace, calls: list[Event], trained: Rows) -> _Stretches:
    rows = rows_of(calls)
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    around = np.array([_function_around(trace, row, trained) for row in rows.tolist()], np.int64)
    step = loops.step_of(trace, trace.start_ns[rows])
    first = np.flatnonzero(np.diff(step, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    are_functions = bool((around != rows).all())
    return _Stretches(trace.start_ns[around[first]], trace.end_ns[around[last]], are_functions)


def _function_around(trace: Trace, call: int, trained: Rows) -> int:
    """Return the outermost function around a call that trains nothing, or the call itself."""
    row, above = call, int(trace.parent[call])
    while above >= 0 and trace.kind[above] == EventKind.PyCall:
        if holds(trace, np.array([above]), trained)[0]:
            break
        row, above = above, int(trace.parent[above])
    return row


def _trains_in(trace: Trace, stretches: _Stretches, trained: Rows) -> bool:
    """Tell whether training goes on between the calls of a step."""
    return bool(stretches.contain(trace.start_ns[trained]).any())


def _is_taken(trace: Trace, stretches: _Stretches, trained: Rows) -> bool:
    """Tell whether anything may take what these calls left.

    That is memory taken in functions that stays after them, or after the calls until training
    goes on, and tensors from elsewhere that are written to. A tensor is known by its size, which
    may be another's.
    """
    ops = np.flatnonzero(trace.inputs_id[: trace.tree_count] >= 0)
    ops = ops[np.argsort(trace.start_ns[ops], kind="stable")]
    starts, trained_ns = trace.start_ns[ops], np.sort(trace.start_ns[trained])
    begins, ends = stretches.starts_ns, stretches.ends_ns
    until = np.append(begins[1:], _NEVER_NS)
    # The locals of a function go after its end, and before the next operator.
    following_ns = np.append(starts if stretches.are_functions else trained_ns, _NEVER_NS)
    writes, views = _writes(trace, ops)
    if stretches.are_functions:
        ends = _ends_of_reads(trace, ops, writes, stretches, trained_ns)
    goes_on = following_ns[np.searchsorted(following_ns[:-1], ends)]
    ends = ends if stretches.are_functions else goes_on
    in_forward = np.isin(ops, forward_links(trace)[:, 1])
    for device in (CPU, *devices_with_memory(trace)):
        lives = of_device(trace, device)
        takes = np.searchsorted(lives.start_ns, (begins, ends)).T
        for stretch, (first, last) in enumerate(takes.tolist()):
            times_ns = (begins[stretch], ends[stretch], goes_on[stretch], until[stretch])
            begin, end, after, stop = np.searchsorted(starts, times_ns).tolist()
            nbytes = lives.nbytes[first:last]
            left = set(nbytes[lives.freed_ns[first:last] > goes_on[stretch]].tolist())
            if writes[begin:end].any():
                written = ops[begin:end][(writes | views)[begin:end]]
                left |= _sizes(trace, written, device) - set(nbytes.tolist())
            later = ops[after:stop]
            numbers = {each for each in left if each <= _NUMBER_NBYTES}
            if numbers and numbers & _sizes(trace, later[in_forward[after:stop]], device):
                return True
            if left > numbers and (left - numbers) & _sizes(trace, later, device):
                return True
    return False


def _ends_of_reads(
    trace: Trace,
    ops: Rows,
    writes: NDArray[np.bool_],
    stretches: _Stretches,
    trained_ns: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return when each stretch ends with the operators that read what its function returned.

    Those follow at once, before training goes on: `sample(model).std().item()`. What they make
    belongs to the stretch, as if the function had done it. What writes in place is none of them.

    Args:
        ops: with inputs, by start, and which of them write.
        trained_ns: when training goes on, ascending.
    """
    starts, found = trace.start_ns[ops], list[int]()
    devices = (CPU, *devices_with_memory(trace))
    for begin, until in zip(stretches.starts_ns.tolist(), stretches.ends_ns.tolist(), strict=True):
        end = until
        following = np.append(trained_ns, _NEVER_NS)[np.searchsorted(trained_ns, end)]
        for _ in range(_MOST_READS):
            at = int(np.searchsorted(starts, end))
            if at == len(ops) or starts[at] >= following or writes[at]:
                break
            if not any(
                _live(trace, device, begin, end, int(starts[at]))
                & _sizes(trace, ops[at : at + 1], device)
                for device in devices
            ):
                break
            end = int(trace.end_ns[ops[at]])
        found.append(end)
    return np.array(found, np.int64)


def _live(trace: Trace, device: int, begin_ns: int, end_ns: int, at_ns: int) -> set[int]:
    """Return the bytes of all memory taken from begin to end that is in use at another time."""
    lives = of_device(trace, device)
    taken = slice(*np.searchsorted(lives.start_ns, (begin_ns, end_ns)))
    return set(lives.nbytes[taken][lives.freed_ns[taken] > at_ns].tolist())


def _writes(trace: Trace, ops: Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which operators in no other write a result in place, and which make views."""
    rows = np.sort(ops)
    is_outer = np.isin(ops, outermost_rows(trace, rows[trace.kind[rows] == EventKind.TorchOp]))
    names = trace.name_id[ops]
    in_place = has_name(trace, "aten::*_") & ~has_name(trace, *_FILLS)
    return is_outer & in_place[names], is_outer & has_name(trace, *_VIEWS)[names]


def _sizes(trace: Trace, ops: Rows, device: int) -> set[int]:
    """Return the bytes of memory of all tensors that these operators take."""
    sizes = set[int]()
    for number in np.unique(trace.inputs_id[ops]).tolist():
        shapes, types = trace.inputs.shapes(number) or (), trace.inputs.dtypes(number) or ()
        for dims, dtype in zip(shapes, types, strict=False):
            if is_dims(dims) and dtype in ITEM_NBYTES:
                sizes.add(prod(dims) * ITEM_NBYTES[dtype])
            elif dtype == "TensorList":  # of whatever types
                lengths = {prod(each) for each in dims if is_dims(each)}
                sizes |= {length * size for length in lengths for size in _ITEM_SIZES}
    if device == CPU:
        return sizes
    return {-(-size // _BLOCK_NBYTES) * _BLOCK_NBYTES for size in sizes}


def _comes_back(trace: Trace, call: Event, stretches: _Stretches) -> bool:
    """Tell whether steps make tensors of Python's or numpy's values, beside those of the calls.

    In a function that does not train those are the calls' own: a prompt, or what is evaluated.
    """
    rows = tree_rows(trace, "aten::lift_fresh")
    rows = rows[loops.step_of(trace, trace.start_ns[rows]) >= 0]
    rows = rows[~below(trace, tree_rows(trace, frames.FETCH)).contains(rows)]
    rows = rows[~stretches.contain(trace.start_ns[rows])]
    trains = {_function(trace.location(row)) for row in calls_of(trace).tolist()}
    own = _function(call.location)
    for row in rows.tolist():
        shapes = trace.inputs.shapes(int(trace.inputs_id[row]))
        is_number = bool(shapes) and is_dims(shapes[0]) and prod(shapes[0]) == 1
        is_own = own not in trains and _function(trace.location(row)) == own
        if not is_number and not is_own:
            return True
    return False


def _location(call: Event) -> Location | None:
    """Return the line that calls a module, which an operator in it may know better."""
    at, trace = call.location, call.trace
    if at is None or at.is_call_line:
        return at
    inside = slice(call.row, int(trace.subtree_end[call.row]))
    ops = call.row + np.flatnonzero(trace.kind[inside] == EventKind.TorchOp)
    line = trace.location(int(ops[0])) if len(ops) else None
    return line if line is not None and _function(line) == _function(at) else at


def _called_at(calls: list[Event], trained: Rows) -> FixPlace | None:
    """Return the one line that calls the outermost function around calls that trains nothing."""
    places_of = {_line_around(each, trained) for each in calls}
    return places_of.pop() if len(places_of) == 1 else None


def _line_around(call: Event, trained: Rows) -> FixPlace | None:
    around = call.trace.event(_function_around(call.trace, call.row, trained))
    called = parse_frame(around.name)
    trains = next(filter(None, (parse_frame(each.name) for each in around.ancestors())), None)
    lines = map(parse_frame, map(str.strip, call.trace.call_stack(call.row).split(";")))
    line = next((each for each in lines if each and _function(each) == _function(trains)), None)
    if called is None or line is None or not is_user_file(called.file):
        return None
    where = Location(line.file, line.line, line.function, is_call_line=True)
    return FixPlace(f"{called.function}() is called", where)


def _function(place: Location | None) -> tuple[str, str]:
    return (place.file, place.function) if place is not None else ("", "")
