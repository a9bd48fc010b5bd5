"""TDY804: memory that stays, from each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, EventKind, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import memory
from ..evidence.device.autograd import nodes_in_vain
from ..evidence.python import places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, under
from ..option import Option

_MIB = 1 << 20
_FEW = 3  # ops, with which a script adds up or looks at what it keeps


_SHAPES = " | float[512, 512], float[512, 512]"
_HANDED_ON = _SHAPES + f" > aten::mul{_SHAPES}"
_INTO_A_RESULT = f" > aten::mul{_SHAPES}, float[0]"


def _steps(*changes: Sequence[int], seq: str = " seq=4", more: str = "", nbytes: int = _MIB) -> str:
    """A step for each sequence of addresses: positive ones are taken, negative ones given back."""
    lines, held = list[str](), 0
    for number, step in enumerate(changes):
        ops = list[str]()
        for address in step:
            size = nbytes if address > 0 else -nbytes
            held += size
            change = f"[memory] {size}B at {abs(address)} of {held}"
            ops.append(under("aten::mul" + seq + more, change))
        lines.append(under(f"ProfilerStep#{number} 90us", *ops, "aten::relu"))
    return under(FRAME, *lines)


_EACH_STAYS = [(number, 90, -90) for number in range(1, 6)]


class GrowingMemory(Pattern):
    """Tensors of each step stay, so that memory grows until there is none left.

    What it does: It follows what is taken and given back over four steps or more, and finds what is
    taken in each step but the last and not given back to the end of the last one, where every step
    ends with 64 KiB more in use. It names the op that holds most of it. It is info below 1 MiB a
    step, and where the ops record no gradients: outputs that are collected grow like that.
    Why it costs: The run ends when memory does, long after a profile of a few steps. Kept tensors
    that record gradients keep the graph of their step, with all that its backward would need.
    Example: `total += loss` without a backward, recorded with `profile_memory=True` as

        ProfilerStep#1, #2, #3, ...
          aten::mul
            [memory]  4 MiB taken, and never given back

    Instead: Keep numbers or detached tensors (`total += loss.detach()`, `loss.item()` once in a
    while), detach what is carried to the next step (`hidden = hidden.detach()`), and clear what
    hooks and lists collect.
    Cannot see: It misses what grows by less than a step's noise, and what grows in some steps only.
    It does not check runs with `torch.func.grad` or `vmap` where shapes are recorded: the profiler
    itself keeps what their tensors wrap.
    """

    code = "TDY804"
    needs = frozenset({Capability.MEMORY, Capability.STEPS})
    fix = "keep numbers or detached tensors: total += loss.detach()"
    why_no_edit = "it costs memory, not time"
    fewest_steps = Option(
        4, "in fewer steps what fills up early (queues, caches) looks like growth", least=2
    )
    warning_from_nbytes = Option(
        1 << 20, "at 1 MiB a step 80 GiB last for 80,000 steps; what grows by less is info"
    )
    worth_a_word_nbytes = Option(1 << 16, "less than 64 KiB a step is what loggers keep")
    examples = (
        Fires("each-step-stays", _steps(*_EACH_STAYS), events=4, at=AT),
        Fires("no-gradients", _steps(*_EACH_STAYS, seq=""), 4, AT, Severity.INFO),
        Fires("little", _steps(*_EACH_STAYS, nbytes=1 << 17), 4, AT, Severity.INFO),
        Fires("autocast-hands-on", _steps(*_EACH_STAYS, more=_HANDED_ON), events=4, at=AT),
        Fires("overloads", _steps(*_EACH_STAYS, more=_HANDED_ON + _INTO_A_RESULT), 4, AT),
        Quiet("given-back", _steps(*((n, -n) for n in range(1, 6)))),
        Quiet("given-back-a-step-later", _steps((1,), *((n, 1 - n) for n in range(2, 6)))),
        Quiet("a-queue-of-three", _steps((1, 2, 3), *((n + 3, -n) for n in range(1, 5)))),
        Quiet("warm-up", _steps((1, 2), (3,), (4, -4), (5, -5), (6, -6))),
        Quiet("numbers", _steps(*_EACH_STAYS, nbytes=512)),
        Abstains("three-steps", _steps(*_EACH_STAYS[:3])),
        Abstains("torch-func", _steps(*_EACH_STAYS, more=_HANDED_ON + f" > aten::mul{_SHAPES}")),
        Abstains("memory-not-recorded", under(FRAME, "ProfilerStep#1 > aten::mul")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return (
            memory.without_addresses(trace)
            or _too_few_steps(trace, self.fewest_steps)
            or memory.kept_by_recording(trace)
        )

    def find(self, trace: Trace) -> Matches:
        for device in (*memory.devices_with_memory(trace), memory.CPU):
            grown = _grown(trace, device, self.fewest_steps)
            stays = _stays(trace, device) if grown >= self.worth_a_word_nbytes else []
            if not stays:
                continue
            same = max(stays, key=lambda part: sum(event.nbytes for event in part))
            keeps_graph = any(above.sequence_nr >= 0 for e in same for above in e.ancestors())
            matters = grown >= self.warning_from_nbytes and keeps_graph
            severity = Severity.WARNING if matters else Severity.INFO
            said, keeper = _said(trace, same, grown), _keeper(trace, same) if keeps_graph else None
            if keeper is not None:
                said += f", in a graph kept up to {keeper.name}"
            place = (keeper or same[0]).location
            yield Match(same, said, (), edit=None, severity=severity, location=place)


def _keeper(trace: Trace, same: Sequence[Event]) -> Event | None:
    """The op up to which a graph is kept that these allocations are part of; None if unclear.

    It is the last of those after them whose nodes no backward uses.
    """
    rows, in_vain = nodes_in_vain(trace)
    vain, used = np.flatnonzero(in_vain), np.append(np.flatnonzero(~in_vain), len(rows))
    ops = [op.start_ns for op in map(_op_of, same) if op is not None]
    at = np.searchsorted(trace.start_ns[rows], ops)
    if not len(vain) or not len(at) or at.max() > vain[-1]:
        return None
    first = vain[np.searchsorted(vain, at)]
    after = used[np.searchsorted(used, first)]
    # What follows a backward may be an evaluation, which keeps nothing.
    if (after - first)[~in_vain[at]].max(initial=0) > _FEW:
        return None
    last = [trace.event(row) for row in rows[after - 1].tolist()]
    return last[0] if len({(event.name, event.location) for event in last}) == 1 else None


def _too_few_steps(trace: Trace, fewest: int) -> Obstacle | None:
    """Say why steps cannot be compared; None where there are enough of them."""
    count = len(trace.window.steps)
    if not trace.steps or count >= fewest:
        return None
    counted = "1 step that counts" if count == 1 else f"{count} steps that count"
    return NotChecked(f"the recording has {counted}", f"record {fewest + 1} steps or more")


def _grown(trace: Trace, device: int, fewest_steps: int) -> int:
    """Tell what the least step of the window adds on one device, given back counted.

    Steps in which memory changed unseen, as its totals show, do not count: there is no total of two
    pieces of a recording. 0 of fewer steps.
    """
    ends = np.array([step.end_ns for step in trace.window.steps])
    changes = memory.changes_of(trace, device)
    nbytes, totals = trace.nbytes[changes.row], changes.allocated_nbytes
    upto = np.searchsorted(trace.start_ns[changes.row], ends)
    grown = np.diff(np.append(0, np.cumsum(nbytes))[upto])
    if len(changes) and (totals >= 0).all():
        unseen = np.append(0, np.cumsum(np.diff(totals, prepend=totals[0] - nbytes[0]) != nbytes))
        grown = grown[np.diff(unseen[upto]) == 0]
    return int(grown.min()) if len(grown) >= fewest_steps - 1 else 0


def _stays(trace: Trace, device: int) -> list[list[Event]]:
    """Allocations that stay, of one op at one place, with some in each step but the last."""
    steps, taken = trace.window.steps, memory.of_device(trace, device)
    stays = (taken.freed_ns > steps[-1].end_ns) & (taken.start_ns < steps[-2].end_ns)
    # Of steps in between that were left out nothing counts.
    rows = taken.row[stays & trace.window.time.contains(taken.start_ns)]
    starts = [step.start_ns for step in steps]
    return [
        same
        for same in places.grouped(trace.events(rows.tolist()), _place)
        if len(set(np.searchsorted(starts, [e.start_ns for e in same], side="right").tolist()))
        >= len(starts) - 1
    ]


def _place(event: Event) -> tuple[object, str]:
    op = _op_of(event)
    return event.location, "" if op is None else op.name


def _op_of(event: Event) -> Event | None:
    """The outermost op in which memory was taken."""
    ops = [above for above in event.ancestors() if above.kind == EventKind.TorchOp]
    return ops[-1] if ops else None


def _said(trace: Trace, same: Sequence[Event], step_nbytes: int) -> str:
    op = _op_of(same[0])
    each = memory.in_units(sum(event.nbytes for event in same) / (len(trace.window.steps) - 1))
    by = f"; {each} of it by {op.name}" if op is not None else ""
    where = "" if same[0].device == memory.CPU else " of the GPU"
    return f"memory{where} grows by {memory.in_units(step_nbytes)} a step or more{by}"
