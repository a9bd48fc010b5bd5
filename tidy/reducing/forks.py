"""The rules of one large trace in worker processes, which are forks of this one.

A fork has the trace as this process has it, without a copy. Workers take one rule after the other
out of a pipe that all of them have, so that none waits while another one has many left, and send
back what rules say. What does not come, because a worker died or for want of a way to send it, is
done here. So the outcomes are those of one process, whatever becomes of the workers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ..account import host_in_window
from ..finding import Outcome
from ..patterns.base import Pattern
from ..patterns.registry import load_builtin_patterns
from ..patterns.runner import run_pattern, run_patterns
from ..readers.workers import Workers, best_method
from ..trace import Trace
from .parcel import pack_outcomes, unpack_outcomes

# Of fewer events, rules take no longer than what starting processes takes.
FEWEST_EVENTS = 200_000
_MOST_WORKERS = 4  # the longest rule is a fourth of all
_NUMBER_NBYTES = 2  # of a rule in the pipe, which holds 65,536 bytes


class _Inherited(NamedTuple):
    """What forks find in their memory: a trace, rules, and the pipe with the numbers of these."""

    trace: Trace
    rules: Sequence[Pattern]
    numbers: int


_inherited: list[_Inherited] = []


def run_in_forks(trace: Trace, rules: Sequence[Pattern], jobs: int) -> dict[str, Outcome]:
    """Return the outcome of each rule by code, as `run_patterns` does.

    Rules that do not come with tidy run in this process: nobody knows what else they do.

    Args:
        jobs: how many workers there are at most; 1 for none. There is none for a small trace, and
            where processes cannot be forked.
    """
    if jobs == 1 or len(trace) < FEWEST_EVENTS or best_method() != "fork":
        return run_patterns(trace, rules)
    known = set(load_builtin_patterns())
    of_tidy = [each for each in rules if type(each) in known]
    _make_what_all_need(trace)
    found = _found_by_forks(trace, of_tidy, min(jobs, _MOST_WORKERS))
    return {
        rule.code: found[rule.code] if rule.code in found else run_pattern(trace, rule)
        for rule in rules
    }


def _make_what_all_need(trace: Trace) -> None:
    """Have the trace keep what several rules and the account ask for, and what takes longest."""
    with suppress(Exception):  # on odd times; whoever asks again meets it and says so
        most = max(trace.devices_used, key=lambda d: len(trace.rows_of_device(d)), default=None)
        host_in_window(trace, most)


def _found_by_forks(trace: Trace, rules: Sequence[Pattern], count: int) -> dict[str, Outcome]:
    """Return the outcomes that workers sent, by code."""
    try:
        numbers, filled = os.pipe()
    except OSError:  # too many files are open
        return {}
    os.write(filled, b"".join(at.to_bytes(_NUMBER_NBYTES, "big") for at in range(len(rules))))
    os.close(filled)
    _inherited.append(_Inherited(trace, rules, numbers))
    found: dict[str, Outcome] = {}
    try:
        with Workers(count, "fork") as workers:
            tasks = [workers.submit(_run_some, None) for _ in range(workers.count)]
            for task in tasks:
                workers.wait_for(task)
                for packed in task.result():
                    found |= unpack_outcomes(packed, trace)
    finally:
        _inherited.clear()
        os.close(numbers)
    return found


def _run_some(_: None) -> list[bytes]:
    """Run rules until none is left, and pack what they say. It runs in a worker."""
    trace, rules, numbers = _inherited[-1]
    outcomes: dict[str, Outcome] = {}
    while number := os.read(numbers, _NUMBER_NBYTES):
        rule = rules[int.from_bytes(number, "big")]
        outcomes[rule.code] = run_pattern(trace, rule)
    packed = (pack_outcomes({code: outcome}, trace) for code, outcome in outcomes.items())
    return [each for each in packed if each is not None]
