"""Calls of a module that had the same inputs as one before, in the rows of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidy.trace import Location, Rows, Trace
from tidy.trace.location import parse_frame
from tidy.trace.made_places import parameters_of
from tidy.trace.repeated_calls import RepeatedCall, repeated_calls

from ..python import loops
from .autograd import NODE, nodes_in_vain
from .launches import COMPILED, below, outermost_rows, tree_rows

# Ops that give other values each time; composite ones of dropout call them.
_RANDOM = (
    "aten::native_dropout", "aten::_fused_dropout", "aten::bernoulli*", "aten::rand*",
    "aten::normal*", "aten::uniform*", "aten::exponential*", "aten::geometric*", "aten::cauchy*",
    "aten::log_normal*", "aten::multinomial", "aten::poisson", "aten::binomial", "aten::rrelu*",
)  # fmt: skip
# Of these ops the input with the probability of dropout.
_DROPS = {
    "aten::scaled_dot_product_attention": 4,
    "aten::_scaled_dot_product_flash_attention": 3,
    "aten::_scaled_dot_product_efficient_attention": 5,
    "aten::_scaled_dot_product_cudnn_attention": 5,
}
_CHANGES_GRADIENTS = ("*clip_grad*", "Optimizer.*")


@dataclass(frozen=True)
class CalledAgain:
    """Calls of one module at one place, which one at another place makes needless.

    Attributes:
        call: what the recording noted.
        rows: the calls that are needless, by start.
        place, other: the lines where the ways to this call and to the other one part.
        is_first: whether the needless calls are those that come first.
        step_count: in how many steps of the trace they are.
    """

    call: RepeatedCall
    rows: Rows
    place: Location
    other: Location
    is_first: bool
    step_count: int


def called_again(trace: Trace) -> Iterator[CalledAgain]:
    """Yield all that is known to be made twice in most steps; one for each place."""
    noted = repeated_calls(trace) or []
    calls = [each for each in noted if not each.after_step and each.proofs]
    known = {each.first for each in calls} | {each.again for each in calls}
    done = set[tuple[str, ...]]()
    for each in calls + [one for one in noted if one.after_step and one.again not in known]:
        # What records gradients is needed for them, so that the other one is needless.
        is_first = each.again_grad and not each.first_grad
        stack, other = (each.first, each.again) if is_first else (each.again, each.first)
        if stack in done or _count(noted, each) != 1:
            continue
        rows, others = _rows_of(trace, each, stack, other), _rows_of(trace, each, other, stack)
        step_count = loops.count_steps(trace, trace.start_ns[rows])
        if not loops.are_most_steps(trace, step_count):
            continue
        if _differs(trace, rows) or (each.after_step and _is_used(trace, rows)):
            continue
        if not each.after_step and _writes_between(trace, rows, others):
            continue
        at = _parting(stack, other)
        place, apart = _location(stack[at[0]]), _location(other[at[1]])
        if place is not None and apart is not None:
            done.add(stack)
            yield CalledAgain(each, rows, place, apart, is_first, step_count)


def _count(noted: Sequence[RepeatedCall], call: RepeatedCall) -> int:
    """Return of how many modules of the class, called at these lines, that was noted."""
    how = call.module, call.first, call.again, call.after_step
    return [(one.module, one.first, one.again, one.after_step) for one in noted].count(how)


def _rows_of(
    trace: Trace, call: RepeatedCall, stack: tuple[str, ...], other: tuple[str, ...]
) -> Rows:
    """The calls at one place; none if a recording has too little of their stacks to tell it from
    the other, or several modules are called there.
    """
    modules = outermost_rows(trace, np.sort(tree_rows(trace, "nn.Module: *")))
    rows = np.intersect1d(modules, tree_rows(trace, f"nn.Module: {call.module}_*"))
    wanted = list[int]()
    for row in rows.tolist():
        frames = tuple(filter(None, map(str.strip, trace.call_stack(row).split(";"))))
        count = min(len(frames), len(stack))
        is_apart = frames[:count] != other[:count]
        if count and frames[:count] == stack[:count] and is_apart:
            wanted.append(row)
    found = np.array(wanted, np.int64)
    return found if len(np.unique(trace.name_id[found])) == 1 else found[:0]


def _differs(trace: Trace, rows: Rows) -> bool:
    """Tell whether calls hold what is random, or what torch.compile made, which hides that."""
    inside = below(trace, rows)
    if inside.contains(tree_rows(trace, *_RANDOM, *COMPILED)).any():
        return True
    for name, at in _DROPS.items():
        for row in tree_rows(trace, name).tolist():
            values = trace.inputs.concrete(int(trace.inputs_id[row]))
            is_known = len(values) > at and str(values[at]) in ("0.", "0", "0.0")
            if not is_known and inside.contains(np.array([row]))[0]:
                return True
    return False


def _is_used(trace: Trace, rows: Rows) -> bool:
    """Tell whether a backward uses what these calls compute, or may do so later."""
    forward, in_vain = nodes_in_vain(trace)
    inside = below(trace, rows).contains(forward)
    return bool(not in_vain[inside].all())


def _writes_between(trace: Trace, rows: Rows, others: Rows) -> bool:
    """Tell whether ops on a device wrote to something with the shape of a parameter between both.

    `parameter.data.add_()` changes no version, and what the device's memory holds is not looked at.
    """
    if not trace.devices_used:
        return False
    names = [n for n, name in enumerate(trace.names) if _writes(name)]
    ops = trace.rows_of_names(names)
    ops = np.sort(ops[ops < trace.tree_count])
    left_alone = tree_rows(trace, f"{NODE}*", "nn.Module: *", *_CHANGES_GRADIENTS)
    ops = outermost_rows(trace, ops[~below(trace, left_alone).contains(ops)])
    shapes = parameters_of(trace)
    for row in rows.tolist():
        at = int(np.searchsorted(others, row))
        near = [int(one) for one in others[max(at - 1, 0) : at + 1]]
        other = min(near, key=lambda one: abs(one - row), default=row)
        between = ops[(ops > min(row, other)) & (ops < max(row, other))]
        for op in between.tolist():
            dims = trace.inputs.shapes(int(trace.inputs_id[op]))[:1]
            if shapes is None or "_foreach_" in trace.names[trace.name_id[op]]:
                return True
            if not dims or dims[0] in shapes:
                return True
    return False


def _writes(name: str) -> bool:
    return name.startswith("aten::") and name.endswith("_") and name != "aten::zero_"


def _parting(stack: tuple[str, ...], other: tuple[str, ...]) -> tuple[int, int]:
    """Return where two stacks part, seen from outside, as an index into each."""
    shorter = min(len(stack), len(other))
    same = 0
    while same < shorter - 1 and stack[-1 - same] == other[-1 - same]:
        same += 1
    return len(stack) - 1 - same, len(other) - 1 - same


def _location(frame: str) -> Location | None:
    found = parse_frame(frame)
    return found and Location(found.file, found.line, found.function, is_call_line=True)
