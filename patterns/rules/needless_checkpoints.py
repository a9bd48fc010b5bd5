"""TDY710: checkpoints that compute a forward again, where memory would suffice to keep it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, Intervals, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import memory, obstacles
from ..evidence.device.autograd import NODE
from ..evidence.device.recomputed import (
    Recomputed,
    are_all_known,
    has_hidden,
    kept_nbytes,
    recomputed,
)
from ..evidence.fixes import edits
from ..evidence.python import places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, share, word_share

_NO_TOTAL = NotChecked(
    "the trace does not say how much memory the GPU has", "keep deviceProperties in the file"
)
_LEFT = (0.0, 0.1)
_ON_A_CPU = "measure a step without the checkpoints, and the memory that it takes"

_MIB = 1 << 20
_NODE = f"{NODE}AddmmBackward0 > AddmmBackward0"


def _again(reserved_mib: int) -> str:
    """The operator of a layer, which takes memory that stays until its own backward."""
    taken = f"[memory] {_MIB}B at 7 of {40 * _MIB}/{reserved_mib * _MIB}"
    return under("aten::linear 90us seq=9", taken)


def _backward(number: int) -> str:
    given = f"[memory] -{_MIB}B at 7 of {39 * _MIB}/{80 * _MIB}"
    node = f"{NODE}AddmmBackward0 > AddmmBackward0 seq={number}/1"
    return under(node, "aten::mm 90us", given)


def _reentrant(reserved_mib: int = 80) -> str:
    node = f"{NODE}CheckpointFunctionBackward > CheckpointFunctionBackward seq=3/1"
    return under(node, _again(reserved_mib), _backward(9))


def _unpacked(node: str = "AddmmBackward0") -> str:
    module = under("nn.Module: Linear_0", _again(80))
    first = under("nn.Module: Linear_0", "aten::linear seq=3")
    own = f"{NODE}{node} > {node} seq=3/1"
    return first + under(
        own, module, "aten::mm 90us", f"[memory] -{_MIB}B at 7 of {39 * _MIB}/{80 * _MIB}"
    )


def _of_function(called: str) -> str:
    """A forward that calls a function of Python, and a node that calls one at model.py(7)."""
    again = under(f"{_NODE} seq=3/1 > model.py(7): block", _again(80))
    return under(called, "aten::linear seq=3") + again


_HIDDEN = under(f"{_NODE} seq=3/1", "aten::gelu seq=10")
_GPU = "# device 0 NVIDIA T4 7.5 1GiB\n"


def _run(*parts: str, gpu: str = _GPU, beside_us: int = 90) -> str:
    return gpu + steps(under(FRAME, f"aten::mm {beside_us}us", *parts), lasts_us=None)


class NeedlessCheckpoints(Pattern):
    """Checkpoints compute a forward again in the backward, while memory would suffice to keep it.

    What it does: It finds the forwards that `torch.utils.checkpoint` runs again in a backward, and
    adds up the memory that they take and that stays after them, of all that would be kept at one
    time: so much more would be in use without checkpoints. It reports those that take 5 % of the
    steps if that, with what the allocator holds, is 80 % of the GPU's memory at the most; in a run
    on a CPU, whose memory the trace does not tell, it says how much it is. It is info, since later
    batches may be larger.
    Why it costs: Each layer in a checkpoint computes its forward twice, which is about a quarter
    of a step that is all checkpoints.
    Example: `x = checkpoint(block, x)` for each block of a model that needs 12 of 80 GB, recorded
    as

        autograd::engine::evaluate_function: CheckpointFunctionBackward
          CheckpointFunctionBackward
            aten::linear                          in the forward, too
            autograd::engine::evaluate_function: AddmmBackward0

    Instead: Call the layers without a checkpoint, or checkpoint as many as memory asks for; use
    the memory for a larger batch otherwise.
    Cannot see: It needs memory. With `use_reentrant=False` it needs Python stacks, too; it misses
    operators that are checkpointed without a function of Python around them, and all of these
    checkpoints in recordings of tidy.runtime. It does not know of other processes on the GPU.
    """

    code = "TDY710"
    severity = Severity.INFO
    fix = "call the layers without checkpoint(), or checkpoint fewer of them"
    worth_a_word = word_share(LARGE_INFO, "forwards that run again")
    plenty = share(
        0.8, "what is held and what would be kept leave the rest of the GPU's memory to spare"
    )
    examples = (
        Fires("reentrant", _run(_reentrant()), events=3, at=AT),
        Fires("saved-tensor-hooks", _run(_unpacked()), events=3, at=AT),
        Fires("on-a-cpu", re.sub("/[0-9]{7,}", "", _run(_unpacked(), gpu="")), events=3, at=AT),
        Quiet("memory-is-scarce", _run(_reentrant(reserved_mib=900))),
        Quiet("little", _run(_reentrant(), beside_us=9000)),
        Quiet("a-function-of-ones-own", _run(_unpacked("FixedPointBackward"))),
        Fires(
            "a-function", _run(_of_function(called="model.py(7): block")), events=3, at="model.py:7"
        ),
        Quiet("a-part-is-not-known", _run(_unpacked() + _HIDDEN)),
        Quiet("unpacked-otherwise", _run(_of_function(called="model.py(8): pack"))),
        Quiet("no-checkpoint", _run(_again(80), _backward(9))),
        Abstains("size-of-memory-unknown", _run(_reentrant(), gpu="# device 0 NVIDIA T4 7.5\n")),
        Abstains("no-stacks", steps(under(f"{_NODE} seq=3/1", "aten::linear 90us"))),
        Abstains("no-memory", re.sub(r".*\[memory\].*\n", "", _run(_reentrant()))),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if Capability.STACKS not in trace.capabilities and has_hidden(trace):
            return obstacles.not_recorded(trace, Capability.STACKS)
        if not recomputed(trace):
            return None
        lacking = frozenset({Capability.MEMORY, Capability.STEPS}) - trace.capabilities
        if lacking:
            return obstacles.not_recorded(trace, *sorted(lacking, key=lambda each: each.value))
        missing, devices = memory.without_addresses(trace), memory.devices_with_memory(trace)
        if missing is not None or _is_on_cpu(trace):
            return missing
        if not devices:
            return obstacles.not_recorded(trace, Capability.MEMORY)
        is_known = all(memory.total_nbytes(trace, device) for device in devices)
        return memory.without_totals(trace) if is_known else _NO_TOTAL

    def find(self, trace: Trace) -> Matches:
        found = recomputed(trace)
        needs = self._needs(trace, found) if found else ""
        if not needs:
            return

        def first_of(each: Recomputed) -> Event:
            return trace.event(int(each.ops[0]))

        for same in places.parts(found, lambda each: first_of(each).location, first_of):
            host = _host(trace, same)
            ops = list(trace.events(np.concatenate([each.ops for each in same]).tolist()))
            edit = edits.without_ops(trace, ops, "kept instead of computed again", _LEFT)
            time = reduce(or_, host.values(), trace.time_of(edit.work))
            if (trace.step_share(time) or 0.0) < self.worth_a_word:
                continue
            yield Match(
                [first_of(each) for each in same],
                f"checkpoints compute their forward a second time, in the backward; {needs}",
                time,
                replace(edit, host=host),
                at_most=Severity.INFO,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        return _ON_A_CPU if _is_on_cpu(events[0].trace) else self.fix

    def _needs(self, trace: Trace, found: list[Recomputed]) -> str:
        """Say what memory it takes to keep all these; "" where a GPU lacks it or may lack it."""
        is_all = are_all_known(trace)
        takes = f"to keep what all checkpoints together make takes {'' if is_all else 'at least '}"
        if _is_on_cpu(trace):
            of_cpu = memory.in_units(kept_nbytes(trace, memory.CPU, found))
            return f"{takes}{of_cpu} more"
        sizes = list[tuple[int, int, int]]()
        for device in memory.devices_with_memory(trace):
            held = int(memory.changes_of(trace, device).reserved_nbytes.max())
            total, more = memory.total_nbytes(trace, device), kept_nbytes(trace, device, found)
            if held + more > self.plenty * total or not is_all:
                return ""
            sizes.append((more, held, total))
        if not sizes:
            return ""
        more_text, held_text, total_text = map(memory.in_units, max(sizes))
        return f"{takes}{more_text} more, beside {held_text} of the GPU's {total_text}"


def _is_on_cpu(trace: Trace) -> bool:
    return trace.is_cpu_run and not memory.devices_with_memory(trace)


def _host(trace: Trace, found: Sequence[Recomputed]) -> dict[int, Intervals]:
    """Return when each thread computes these, with the Python between, by track."""
    tracks = trace.track_id[[each.ops[0] for each in found]].tolist()
    host = dict[int, Intervals]()
    for track in set(tracks):
        own = [each for each, at in zip(found, tracks, strict=True) if at == track]
        edges = np.array([(each.start_ns, each.end_ns) for each in own], np.int64)
        host[track] = Intervals(*edges.T)
    return host
