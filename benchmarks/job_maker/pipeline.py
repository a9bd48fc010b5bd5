"""From the step of one rank to that of a pipeline: one forward, one backward (1F1B).

The step of all stages is one program in which each part is done by the ranks of one stage, in an
order in which each part follows what it waits for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import prod

from .step import (
    RECEIVING,
    SENDING,
    Collective,
    HostEvent,
    Point,
    Step,
    Work,
    around,
    call,
)

_KERNEL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
_Part = tuple[bool, int, int]  # whether it is backward, the stage, the microbatch


def schedule(stages: int, batches: int) -> list[_Part]:
    """Return the parts of all stages in an order in which none waits for a later one."""
    own = [_order_of(stage, stages, batches) for stage in range(stages)]
    done, result = set[_Part](), list[_Part]()
    while any(own):
        part = next(
            parts[0]
            for parts in reversed(own)
            if parts and _needs(parts[0], stages) | _received(parts[0], stages) <= done
        )
        own[part[1]].pop(0)
        done.add(part)
        result.append(part)
    return result


def _order_of(stage: int, stages: int, batches: int) -> list[_Part]:
    ahead = min(stages - 1 - stage, batches)
    result = [(False, stage, batch) for batch in range(ahead)]
    for batch in range(batches - ahead):
        result += [(False, stage, ahead + batch), (True, stage, batch)]
    return result + [(True, stage, batch) for batch in range(batches - ahead, batches)]


def _needs(part: _Part, stages: int) -> set[_Part]:
    is_backward, stage, batch = part
    source = stage + 1 if is_backward else stage - 1
    return {(is_backward, source, batch)} if 0 <= source < stages else set()


def _received(part: _Part, stages: int) -> set[_Part]:
    """What must have received what the stage sent last to that side: one message at a time."""
    is_backward, stage, batch = part
    target = stage - 1 if is_backward else stage + 1
    return {(is_backward, target, batch - 1)} if 0 <= target < stages and batch else set()


def pipelined(plain: Step, reduced: Step, stages: int, batches: int) -> Step:
    """Return the step of a pipeline; the last microbatch reduces the gradients.

    Args:
        plain: a step without the reduction of gradients.
        reduced: the same step with it.
        stages: how many ranks a pipeline has.
        batches: microbatches of a step, each as large as the recorded batch.
    """
    head, forward, backward, _ = _parts(plain)
    _, _, last_backward, tail = _parts(reduced)
    points, sent = list(head), dict[_Part, Work]()
    tail[-1].event = head[0].event  # `ProfilerStep`
    copies = defaultdict[Work, list[Work]](list)
    nelems = _activations(forward)
    for part in schedule(stages, batches):
        is_backward, stage, batch = part
        block = forward
        if is_backward:
            block = last_backward if batch == batches - 1 else backward
        made = _copied(block, stage, batch, copies)
        hop = -1 if is_backward else 1
        before, after = list[Point](), list[Point]()
        if (needed := next(iter(_needs(part, stages)), None)) is not None:
            before, receiving = _exchange("recv", nelems, hop, stage, sent[needed])
            _first_work(made).after.append(receiving)
        if 0 <= stage + hop < stages:
            after, sent[part] = _exchange("send", nelems, hop, stage)
        points += [*before, *made, *after]
    for point in tail:
        for work in point.event.work:
            work.after = [copy for each in work.after for copy in copies.get(each, [each])]
    return Step([*points, *tail], plain.lengths, plain.devices)


def _parts(step: Step) -> tuple[list[Point], list[Point], list[Point], list[Point]]:
    """Head with the loader, forward, backward, and tail with the optimizer."""
    points = step.points
    loaded = max(n for n, p in enumerate(points) if "DataLoader" in p.event.name) + 1
    zeros = [n for n, p in enumerate(points) if p.event.name.startswith("Optimizer.zero_grad")]
    updates = min(n for n, p in enumerate(points) if p.event.name.startswith("Optimizer.step"))
    first, last = min(zeros), max(zeros) + 1
    head = [*points[:loaded], *points[first:last]]
    return head, points[loaded:first], points[last:updates], points[updates:]


def _copied(
    block: list[Point], stage: int, batch: int, copies: dict[Work, list[Work]]
) -> list[Point]:
    """Return the points of a block for one stage, with events and work of its own."""
    works = {
        work: replace(work, collective=work.collective and replace(work.collective))
        for point in block
        for work in point.event.work
    }
    for work, copy in works.items():
        copies[work].append(copy)
        copy.after = [works.get(each, each) for each in work.after]
    kernels = {w.collective: copy.collective for w, copy in works.items() if w.collective}
    events = dict[HostEvent, HostEvent]()
    for point in block:
        event = point.event
        if event not in events:
            told = event.communicates
            events[event] = replace(
                event,
                work=[works[work] for work in event.work],
                communicates=kernels[told] if told is not None else None,
                stage=stage,
                batch=batch,
            )
    return [Point(point.gap_ns, events[point.event], point.is_end) for point in block]


def _first_work(points: list[Point]) -> Work:
    return next(work for p in points for work in p.event.work if work.kind == "kernel")


def _activations(forward: list[Point]) -> int:
    """The size of what goes from stage to stage: the output of the first kernel's operator."""
    for point in forward:
        if point.event.name == "aten::layer_norm":
            return prod(point.event.args["Input Dims"][0])
    return 1 << 20


def _exchange(
    operation: str, nelems: int, hop: int, stage: int, partner: Work | None = None
) -> tuple[list[Point], Work]:
    """Return the points at which a stage sends or receives, and the kernel."""
    what = Collective(operation, nelems, "Float", "pipeline", hop)
    args = {
        "registers per thread": 96,
        "shared memory": 82240,
        "grid": [2, 1, 1],
        "block": [544, 1, 1],
        "est. achieved occupancy %": 0,
    }
    stream = (SENDING if operation == "send" else RECEIVING) + (hop < 0)
    kernel = Work(_KERNEL, "kernel", stream, 0, args, collective=what, partner=partner)
    towards = hop if operation == "send" else -hop
    peer = "next" if towards > 0 else "previous"
    arrow = "->" if operation == "send" else "<-"
    name = f"nccl:{operation} @pipeline self@{arrow}@pipeline {peer}@"
    dims = {"Input Dims": [[nelems]], "Input type": ["float"]}
    points = around(
        HostEvent(f"c10d::{operation}", "cpu_op", {"Input Dims": [[[nelems]], [], [], []]}),
        around(
            HostEvent("record_param_comms", "cpu_op", dict(dims), communicates=what),
            call("cudaEventRecord", took_ns=1_200),
            call("cudaStreamWaitEvent", took_ns=1_000),
            around(
                HostEvent(name, "user_annotation", dict(dims)),
                call("cudaLaunchKernelExC", kernel, took_ns=8_000),
            ),
            gap_ns=6_000,
        ),
        gap_ns=12_000,
    )
    for point in points:
        point.event.stage = stage
    return points, kernel
