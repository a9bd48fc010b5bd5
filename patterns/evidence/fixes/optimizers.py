"""Steps of torch.optim's optimizers, which ops they have grouped, and gradients that they zero."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from tidy.account import closures
from tidy.trace import Event, EventKind, Rows, Trace

from ..device.launches import has_name, innermost, rows_matching

# Functions of torch.optim that call foreach ops are named such as `adam.py(5): _multi_tensor_adam`.
FUSED = r"aten::_fused_|(?!.*: _multi_tensor_).*multi_tensor|Torch-Compiled|.*triton"


def step_pattern(classes: Iterable[str]) -> re.Pattern[str]:
    """Names of the ranges that `Optimizer.step` records, with the class as the first group."""
    return re.compile(rf"Optimizer\.step#({'|'.join(classes)})\.step")


def optimizer_steps(trace: Trace, names: re.Pattern[str]) -> Iterator[Event]:
    """Return the ranges of optimizer steps whose name matches `step_pattern`."""
    for step in trace.events(rows_matching(trace, names, "Optimizer.step#*")):
        if step.kind == EventKind.Annotation:
            yield step


def rows_in(step: Event) -> Rows:
    """Return rows of what runs on the thread of a range while it lasts, by start, but for a
    closure's.
    """
    trace = step.trace
    rows = trace.rows_within(step.start_ns, step.end_ns, int(trace.track_id[step.row]))
    in_closure = closures(trace)
    return rows[~in_closure.contains(trace.start_ns[rows])] if len(in_closure) else rows


def names_in(step: Event) -> dict[str, int]:
    """Return the names of what runs in a range, and how often each does."""
    trace = step.trace
    ids, counts = np.unique(trace.name_id[rows_in(step)], return_counts=True)
    names = [trace.names[each] for each in ids.tolist()]
    return dict(zip(names, counts.tolist(), strict=True))


def zeroing_calls(trace: Trace) -> tuple[list[Event], Rows]:
    """Return the calls of `zero_grad` that fill gradients with zeros, and the ops that fill.

    A call is its frame or, where there is none, the range that the optimizer records.
    """
    fills = trace.rows_named("aten::zero_", "aten::_foreach_zero_")
    above = trace.parent[fills]
    by_zeros = has_name(trace, "aten::zeros")[trace.name_id[np.maximum(above, 0)]] & (above >= 0)
    fills = fills[~by_zeros]
    if not len(fills):
        return [], fills
    # A wrapper of the same name says nothing that the call inside it does not.
    frames = trace.rows_named("*: zero_grad")
    holds = np.searchsorted(fills, trace.subtree_end[frames]) > np.searchsorted(fills, frames + 1)
    calls = innermost(list(trace.events(frames[holds])))
    explained = trace.time_of(e.row for e in calls)
    fill_rows = set(fills.tolist())
    for event in trace.named("Optimizer.zero_grad#*"):
        if explained.overlaps(event.start_ns, event.end_ns) or event.kind == EventKind.PyCall:
            continue
        if not fill_rows.isdisjoint(rows_in(event).tolist()):
            calls.append(event)
    return calls, fills


def additions_to_zeros(trace: Trace, fills: Rows) -> Rows:
    """Return the ops that add a gradient to zeros: in the first backward after they were filled in.

    Where calls of `backward` were not recorded, all are if there are no more of them than fills.
    """
    adds = _additions(trace)
    begun_ns = np.sort(trace.start_ns[trace.rows_named("torch/_tensor.py*: backward")])
    if not len(begun_ns):
        return adds if len(adds) <= len(fills) else adds[:0]
    filled_ns = np.sort(trace.start_ns[fills])
    of = np.searchsorted(begun_ns, trace.start_ns[adds], side="right")
    before = np.append(np.iinfo(np.int64).min, begun_ns)
    count = np.searchsorted(filled_ns, before)
    is_first: Rows = adds[(of > 0) & (count[of] > count[np.maximum(of - 1, 0)])]
    return is_first


def _additions(trace: Trace) -> Rows:
    """The ops that add a gradient to the one that a parameter has."""
    adds = trace.rows_named("aten::add_")
    above = trace.parent[adds]
    is_leaf = has_name(trace, "torch::autograd::AccumulateGrad")
    found: Rows = adds[is_leaf[trace.name_id[np.maximum(above, 0)]] & (above >= 0)]
    return found
