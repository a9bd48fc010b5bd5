"""TDY601: an optimizer that updates one parameter after the other."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidy.account import closures
from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Event, Events, Intervals, Rows, Trace, rows_of

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.fixes import edits, optimizers
from ..evidence.fixes.own_optimizers import GROUPED, OwnOptimizer, updating_one_by_one
from ..evidence.python.made_places import made_at
from ..evidence.python.op_names import aten
from ..examples import AT, FRAME, Fires, Quiet, joined, launch, on_gpu, under
from ..option import Option, share

# What torch.optim has in a multi-tensor form (2.13), by the signatures of the classes: these take
# foreach and fused, the others foreach alone. Muon, LBFGS and SparseAdam take neither.
_FUSED_CLASSES = ("Adagrad", "Adam", "AdamW", "SGD")
_FOREACH_CLASSES = ("Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")
_CLASSES = _FUSED_CLASSES + _FOREACH_CLASSES
_FRAME = re.compile(rf".*: _single_tensor_({'|'.join(_CLASSES)})", re.IGNORECASE)
_STEP = optimizers.step_pattern(_CLASSES)
_ANY_STEP = optimizers.step_pattern([".+"])
_UPDATES = aten("add_ addcdiv_ addcmul_ lerp_ mul_ sub_")
_FUSED_ON_CPU = {name.lower() for name in _FUSED_CLASSES}
# With the Python around them; ops of so small tensors take as long as it takes to call them.
_SHORT_OP_NS = 10_000
_GROUP_THEM = "group the updates: torch._foreach_mul_, _foreach_add_, ... take lists of tensors"
_MAY_SAVE_NOTHING = "on a CPU a fused SGD saves the calls, and nothing where tensors are large"

_ADAM = "torch/optim/adam.py(213): step > torch/optim/adam.py(347): _single_tensor_adam"
_SGD = "torch/optim/sgd.py(330): _single_tensor_sgd"
_MUON = "torch/optim/_muon.py(330): _single_tensor_muon"
_RMSPROP = "Optimizer.step#RMSprop.step"
_PAIR = "aten::addcmul_\naten::addcdiv_\n"
# An optimizer of the user's own: in each round an operator for each line.
_LION, _ITS_STEP = f"{FRAME} > Optimizer.step#Lion.step", "lion.py(9): step"
_ROUND = "aten::mul\naten::add_\naten::sign_\naten::add_\n"
_LINES = "aten::mul @lion.py(14): step\naten::add_ @lion.py(15): step\n"
_BY_HAND = under(_ITS_STEP, launch("aten::lerp_", "kernel"), _ROUND * 10)
_BY_LINES = under(_ITS_STEP, launch("aten::lerp_", "kernel"), _LINES * 10)
_NEWTON_SCHULZ = under(_ITS_STEP, _ROUND * 10, "aten::mm\n" * 10)
_CAPTURED = joined("cudaStreamBeginCapture", under(_LION, _BY_HAND), "cudaStreamEndCapture")


class SingleTensorOptimizer(Pattern):
    """An optimizer updates its parameters one by one, with a few small ops for each.

    What it does: It finds PyTorch's functions that update one parameter after the other or, without
    Python stacks, steps of PyTorch's optimizers with four updates of one kind or more and no
    grouped op. With Python stacks it also finds steps of other classes, in which a function of the
    user's own source calls ten updates of one kind or more, and no grouped op.
    Why it costs: On a GPU each op is a launch, and parameters are small and many, so the kernels
    are too.
    Example: `torch.optim.Adam(model.parameters(), foreach=False)`, whose step is recorded as

        torch/optim/adam.py(...): _single_tensor_adam        with Python stacks

        Optimizer.step#Adam.step                             without
          aten::lerp_, aten::mul_, aten::addcmul_, ... for each parameter
          NOT aten::_foreach_..., NOT aten::_fused_...

    Instead: Pass `foreach=True`, PyTorch's default on CUDA, or better `fused=True` where the
    optimizer has it. In a class of your own, collect the parameters, their gradients and their
    states in lists, and update these: `torch._foreach_mul_(averages, 0.9)`,
    `torch._foreach_add_(parameters, updates, alpha=-lr)`. On a CPU foreach rarely helps, and it is
    info there, unless the optimizer takes a quarter of the steps and a fused form is sure to help:
    that of Adam, AdamW and Adagrad, or of SGD where tensors are small.
    Cannot see: Without stacks it misses optimizers outside torch.optim, and models of fewer than
    four parameters. It leaves alone optimizers of installed libraries, which stacks of PyTorch's
    own profiler tell from the user's source for well-known libraries only; those that multiply
    matrices for each parameter, as Muon and Shampoo do; those that call another optimizer's step,
    as SAM does; and steps that are captured in a CUDA graph.
    """

    code = "TDY601"
    why_no_edit = "on a CPU, updates that are grouped but not fused rarely save anything"
    fix = "let one op update all parameters, where the optimizer has such a form"
    large_on_a_cpu = share(
        0.25,
        "on a CPU, where no optimizer is fused by default, less than this part of the steps"
        " is no reason to warn",
    )
    fewest_updates = Option(4, "with fewer parameters there is nothing to group", least=1)
    fewest_by_hand = Option(
        10, "the same of an optimizer of the user's own, which has to be written anew", least=2
    )
    examples = (
        Fires("frame", on_gpu(launch(f"{_ADAM} > aten::add_", "kernel"), frame=FRAME), at=AT),
        Fires("without-stacks", on_gpu(under(_RMSPROP, launch("aten::add_", "kernel"), _PAIR * 4))),
        Fires("cpu", under(f"{FRAME} > {_SGD} > aten::add_"), at=AT, severity=Severity.INFO),
        Fires("by-hand", on_gpu(under(_LION, _BY_HAND)), at="lion.py:9"),
        Fires("by-hand-with-lines", on_gpu(under(_LION, _BY_LINES)), at="lion.py:14"),
        Fires(
            "by-hand-on-a-cpu",
            under(_LION, under(_ITS_STEP, _ROUND * 10)),
            at="lion.py:9",
            severity=Severity.INFO,
        ),
        Quiet("by-hand-few", on_gpu(under(_LION, under(_ITS_STEP, _ROUND * 4)))),
        Quiet("by-hand-without-stacks", on_gpu(under("Optimizer.step#Lion.step", _ROUND * 10))),
        Quiet("by-hand-grouped", on_gpu(under(_LION, _BY_HAND, "aten::_foreach_add_"))),
        Quiet("a-librarys", on_gpu(under(f"{_LION} > timm/optim/lion.py(9): step", _ROUND * 10))),
        Quiet("newton-schulz", on_gpu(under(_LION, _NEWTON_SCHULZ))),
        Quiet(
            "wraps",
            on_gpu(under(_LION, _BY_HAND, under(f"{_ITS_STEP} > Optimizer.step#SGD.step"))),
        ),
        Quiet("captured", on_gpu(_CAPTURED)),
        Quiet("foreach", under(f"{_RMSPROP} > aten::_foreach_add_", "aten::add_\n" * 4)),
        Quiet("muon", under(f"{FRAME} > {_MUON} > aten::add_")),
    )

    def find(self, trace: Trace) -> Matches:
        frames = launches.rows_matching(trace, _FRAME)
        explained = trace.time_of(frames)
        own = updating_one_by_one(trace, self.fewest_by_hand)
        yield from (self._by_hand(trace, each) for each in own)
        of_user = {step for each in own for step in each.steps}
        steps = [
            step
            for step in optimizers.optimizer_steps(trace, _STEP)
            if step not in of_user
            and not explained.overlaps(step.start_ns, step.end_ns)
            and _most_updates(step) >= self.fewest_updates
        ]
        for match in self.by_place([*trace.events(frames), *steps]):
            made = made_at(trace, "optimizer", match.events[0].location)
            time = trace.time_of(rows_of(match.events)) - closures(trace)
            cost = time if len(closures(trace)) else match.cost
            is_large = (trace.step_share(time) or 0.0) >= self.large_on_a_cpu
            is_worth_it = trace.devices_used or (is_large and _saves_surely(trace, match.events))
            most = Severity.WARNING if is_worth_it else Severity.INFO
            yield replace(match, cost=cost, fix_place=made, at_most=most)

    def _by_hand(self, trace: Trace, own: OwnOptimizer) -> Match:
        """Return the match of an optimizer that the script has itself."""
        rows = rows_of(own.steps)
        # Parameters may be on the CPU beside a GPU that computes their gradients.
        on_device = len(trace.device_rows_under_any(rows)) > 0
        severity = Severity.WARNING if on_device else Severity.INFO
        return Match(
            own.steps,
            f"{own.name} updates one tensor at a time",
            trace.time_of(rows) - closures(trace) if len(closures(trace)) else None,
            ... if on_device else None,
            severity,
            at_most=severity,
            location=own.location,
        )

    def severity_of(self, event: Event) -> Severity:
        return Severity.WARNING if event.trace.devices_used else Severity.INFO

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit | None:
        """Replay one fused op, or a few grouped ones; kernels of many small parameters
        become one.
        """
        if not trace.devices_used and not _has_fused_on_cpu(trace, events):
            return None
        ops, host = _ops_and_host(trace, events)
        on_cpu = not trace.devices_used
        return Edit(
            "one op for all parameters",
            host=host,
            work=edits.work_of(trace, Events(trace, ops)),
            left=(0.03, 0.2) if on_cpu and _is_all_calling(ops, host) else (0.05, 0.35),
            work_left=(0.3, 1.0),
            untold="" if _saves_surely(trace, events) else _MAY_SAVE_NOTHING,
        )

    def fix_of(self, events: Sequence[Event]) -> str:
        """Return the argument that this optimizer has; none if the trace does not name its
        class. One of the user's own has none.
        """
        own = updating_one_by_one(events[0].trace, self.fewest_by_hand)
        if any(events[0] in each.steps for each in own):
            return _GROUP_THEM
        classes = _classes(events)
        name = " and ".join(sorted(classes))
        if classes and classes <= set(_FUSED_CLASSES):
            # On a CPU foreach gains little, and makes some optimizers slower.
            foreach = " (or foreach=True)" if events[0].trace.devices_used else ""
            return f"pass fused=True{foreach} to {name}"
        if classes and classes <= set(_CLASSES):
            return f"pass foreach=True to {name}"
        return self.fix

    def message(self, events: Sequence[Event]) -> str:
        classes = {each.lower() for each in _classes(events) if each in _CLASSES}
        return f"{' and '.join(sorted(classes or _names(events)))} updates one tensor at a time"


def _names(events: Iterable[Event]) -> set[str]:
    """The optimizers, as in adam."""
    matches = (_FRAME.fullmatch(e.name) or _STEP.fullmatch(e.name) for e in events)
    return {match[1].lower() for match in matches if match}


def _classes(events: Sequence[Event]) -> set[str]:
    """The classes of the optimizers: of the ranges that are, or are around, these events.

    The functions that update are shared (AdamW's is Adam's, and a class of the user's may call
    one), so they tell the class only where no range was recorded around any of them.
    """
    found = optimizers.optimizer_steps(events[0].trace, _ANY_STEP)
    ranges = sorted(found, key=lambda each: each.start_ns)
    starts_ns = [each.start_ns for each in ranges]
    classes = set[str]()
    for event in events:
        at = bisect_right(starts_ns, event.start_ns) - 1
        is_inside = at >= 0 and event.end_ns <= ranges[at].end_ns
        if is_inside and (match := _ANY_STEP.fullmatch(ranges[at].name)):
            classes.add(match[1])
    return classes or {_class_of_function(event.name) for event in events}


def _class_of_function(name: str) -> str:
    """`Adam` for the frame of _single_tensor_adam."""
    match = _FRAME.fullmatch(name)
    return next((c for c in _CLASSES if match and c.lower() == match[1].lower()), name)


def _ops_and_host(trace: Trace, events: Sequence[Event]) -> tuple[Rows, dict[int, Intervals]]:
    """What runs in these events, and their time by thread, without closures."""
    ops = np.concatenate([optimizers.rows_in(event) for event in events])
    host = edits.host_time(trace, rows_of(events))
    return ops, {track: time - closures(trace) for track, time in host.items()}


def _is_all_calling(ops: Rows, host: Mapping[int, Intervals]) -> bool:
    return sum(time.total_ns for time in host.values()) < _SHORT_OP_NS * len(ops)


def _saves_surely(trace: Trace, events: Sequence[Event]) -> bool:
    """Tell whether one op is surely quicker: on a CPU it saves calls, or passes over memory.

    A fused SGD makes the one pass that the single one makes.
    """
    if trace.devices_used:
        return True
    if not _has_fused_on_cpu(trace, events):
        return False
    return "sgd" not in _names(events) or _is_all_calling(*_ops_and_host(trace, events))


def _has_fused_on_cpu(trace: Trace, events: Iterable[Event]) -> bool:
    """Tell whether PyTorch has a fused form, as for some optimizers since 2.4.

    Since then traces have a base time as well. What tidy.runtime calls fused is the same loop.
    """
    header = trace.info.header
    is_new = "baseTimeNanoseconds" in header and header.get("framework") != "tidy.runtime"
    return is_new and _names(events) <= _FUSED_ON_CPU


def _most_updates(step: Event) -> int:
    """Tell how often a step calls one op that updates a parameter; 0 where it has grouped ones."""
    names = optimizers.names_in(step)
    if any(map(GROUPED.match, names)):
        return 0
    return max(names.get(each, 0) for each in _UPDATES)
