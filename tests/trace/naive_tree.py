"""PyTorch's tree builder, word by word: a heap of ends over all threads, and a stack for each.

The original is `build_tree` in torch/csrc/profiler/collection.cpp. It is slow and follows pointers,
and says nothing of rows: it shares no idea with `tidy.trace.tree`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(eq=False)
class Span:
    """One event; `forward` is the thread of its forward op, -1 for none."""

    name: str
    start: int
    end: int
    thread: int = 0
    tie: int = 0
    forward: int = -1
    parent: Span | None = None
    finished: bool = False


def in_order(spans: Iterable[Span]) -> list[Span]:
    """By start; ties by `tie` where every span has one, else the longer first."""
    spans = list(spans)
    if any(span.tie < 0 for span in spans):
        return sorted(spans, key=lambda span: (span.start, span.start - span.end))
    return sorted(spans, key=lambda span: (span.start, span.tie))


def replay(spans: Iterable[Span]) -> None:
    """Set the parent of every span."""
    stacks: dict[int, Span] = {}
    ends: list[tuple[int, int, Span]] = []
    for number, span in enumerate(in_order(spans)):
        while ends and ends[0][0] < span.start:
            _pop(heapq.heappop(ends)[2], stacks)
        parent = stacks.get(span.thread)
        if parent is None and span.forward >= 0:
            parent = stacks.get(span.forward)
        span.parent = parent
        if span.end > span.start:
            stacks[span.thread] = span
            heapq.heappush(ends, (span.end, number, span))
        else:
            span.finished = True


def _pop(span: Span, stacks: dict[int, Span]) -> None:
    if span.finished:
        return
    frame = stacks[span.thread]
    while frame is not span:
        frame.finished = True
        assert frame.parent is not None
        frame = frame.parent
    span.finished = True
    del stacks[span.thread]
    if span.parent is not None:
        stacks[span.thread] = span.parent


def replay_coarse(spans: Iterable[Span]) -> None:
    """Set the parent of every span of one thread, times being whole microseconds.

    What ends in the microsecond in which the next starts is over, unless the next ends then too.
    """
    stack: list[Span] = []
    for span in in_order(spans):
        while any(_is_over(span, above) for above in stack):
            stack.pop()
        span.parent = stack[-1] if stack else None
        if span.end > span.start:
            stack.append(span)


def _is_over(span: Span, above: Span) -> bool:
    return above.end < span.start or (above.end == span.start and above.end < span.end)
