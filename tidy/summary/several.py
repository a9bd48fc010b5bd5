"""Summaries of several traces: in the same order whatever order they come in, each step once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..check.overlap import stretches_of
from .summary import Origin, Summary

HEAD_NBYTES = 1 << 16  # by which a trace is known again
_MOST_NAMED = 4


def origin_of(path: str) -> Origin:
    """Return by what the file of a trace is known again; nothing if there is no such file."""
    try:
        file = Path(path)
        if not file.is_file():
            return Origin()
        with file.open("rb") as opened:
            head = opened.read(HEAD_NBYTES)
        import hashlib  # loads OpenSSL, and most reports keep no summaries

        return Origin(file.name, file.stat().st_size, hashlib.sha256(head).hexdigest())
    except (OSError, ValueError):  # the second of a NUL in the name
        return Origin()


def merged(
    given: Iterable[tuple[str, Summary]], read: Sequence[Summary], notes: list[str]
) -> list[Summary]:
    """Put summaries behind those of traces that were read, and note which are left out.

    A summary is left out if its trace, or another summary of it, is there, or all its steps are.

    Args:
        given: the summaries, each with the path of its file, in any order.
        read: the summaries of traces, which stay as they are.
    """
    result, left_out = list(read), list[str]()
    origins = {each.origin: each.run.path for each in read if each.origin.is_known}
    seen = {each: one.run.path for one in read for each in _stretches(one)}
    for path, summary in sorted(given, key=lambda each: _key(each[1])):
        mine, first = _stretches(summary), origins.get(summary.origin)
        known = [each for each in mine if each in seen]
        if first is None and known and len(known) == len(mine):
            first = seen[known[0]]
        if first is not None:
            left_out.append(f"{path}: the same steps as {first}; left out")
            continue
        if known:
            some = f"{len(known):,} of its {len(mine):,} steps are"
            notes.append(f"{path}: {some} in {seen[known[0]]} too, and counted twice")
        if summary.origin.is_known:
            origins[summary.origin] = path
        seen |= {each: path for each in mine if each not in seen}
        result.append(summary)
    if len(left_out) > _MOST_NAMED:
        left_out = [
            f"{len(left_out):,} summaries hold the same steps as what is counted already; left out"
        ]
    notes += left_out
    return result


def _key(summary: Summary) -> tuple[int, str, str, int]:
    """The order in which their traces were reported."""
    return summary.number, summary.run.path, summary.origin.digest, summary.origin.nbytes


def _stretches(summary: Summary) -> list[tuple[int | None, int, int]]:
    run = summary.run
    steps = [step for step, _ in summary.steps] if run.unit == "step" else []
    start_ns = run.first_ns if run.event_count else None
    return stretches_of(run.rank, start_ns, run.span_ns, steps)
