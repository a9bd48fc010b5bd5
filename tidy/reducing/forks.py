"""The rules and the account of one large trace in worker processes, which are forks of this one.

A fork has the trace as this process has it, without a copy. Workers take one share after the other
out of a pipe that all of them have, so that none waits while another one has many left, and send
back what came of them. What does not come, because a worker died or for want of a way to send it,
is done here. So reports are those of one process, whatever becomes of the workers.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ..account import keep_accounts, make_accounts
from ..finding import Crashed, Outcome
from ..patterns.base import Pattern
from ..patterns.registry import load_builtin_patterns
from ..patterns.runner import run_patterns
from ..readers.workers import Task, Workers, best_method
from ..trace import Trace
from .parcel import pack_outcomes, unpack_outcomes

# Of fewer events, rules take no longer than what starting processes takes.
FEWEST_EVENTS = 200_000
_MOST_WORKERS = 4  # the first share is a third of all
# They ask what the host does while devices idle, as the account does: whoever has found that out
# for the account runs them.
_WITH_THE_ACCOUNT = frozenset({"TDY401", "TDY402", "TDY407"})
_NUMBER_NBYTES = 2  # of a share in the pipe, which holds 65,536 bytes


class _Inherited(NamedTuple):
    """What forks find in their memory: a trace, shares of its rules, and the pipe with the numbers
    of these.

    The account is made with the first share.
    """

    trace: Trace
    shares: list[list[Pattern]]
    numbers: int


class _Results(NamedTuple):
    """What a worker sends: packed outcomes, and packed accounts if it has made them."""

    outcomes: list[bytes]
    accounts: bytes | None


_inherited: list[_Inherited] = []


def run_in_forks(trace: Trace, rules: Sequence[Pattern], jobs: int) -> dict[str, Outcome]:
    """Return the outcome of each rule by code, as `run_patterns` does; the trace keeps its account.

    Rules that do not come with tidy run in this process: nobody knows what else they do.

    Args:
        jobs: how many workers there are at most; 1 for none. There is none for a small trace, and
            where processes cannot be forked.
    """
    if jobs == 1 or len(trace) < FEWEST_EVENTS or best_method() != "fork":
        return run_patterns(trace, rules)
    with suppress(Exception):  # on odd times; whoever asks again meets it and says so
        _ = trace.window, trace.capabilities, trace.is_cpu_run  # all rules ask for these
    try:
        numbers, filled = os.pipe()
    except OSError:  # too many files are open
        return run_patterns(trace, rules)
    known = set(load_builtin_patterns())
    of_tidy = [each for each in rules if type(each) in known]
    shares = [[each for each in of_tidy if each.code in _WITH_THE_ACCOUNT]]
    shares += [[each] for each in of_tidy if each.code not in _WITH_THE_ACCOUNT]
    count = min(jobs, _MOST_WORKERS, len(shares))
    os.write(filled, b"".join(at.to_bytes(_NUMBER_NBYTES, "big") for at in range(len(shares))))
    os.close(filled)
    _inherited.append(_Inherited(trace, shares, numbers))
    try:
        with Workers(count, "fork") as workers:
            tasks = [workers.submit(_run_shares, None) for _ in range(workers.count)]
            found = run_patterns(trace, [each for each in rules if type(each) not in known])
            found |= _taken(trace, workers, tasks)
    finally:
        _inherited.clear()
        os.close(numbers)
    missing = [each for each in of_tidy if each.code not in found]
    found |= run_patterns(trace, missing)
    return {rule.code: found[rule.code] for rule in rules}


def _taken(
    trace: Trace, workers: Workers, tasks: Sequence[Task[None, _Results]]
) -> dict[str, Outcome]:
    """Take what all workers send, and return the outcomes."""
    found: dict[str, Outcome] = {}
    for task in tasks:
        workers.wait_for(task)
        sent = task.result()
        for packed in sent.outcomes:
            found |= unpack_outcomes(packed, trace)
        if sent.accounts is not None:
            keep_accounts(trace, pickle.loads(sent.accounts))  # noqa: S301 - our own
    return found


def _run_shares(_: None) -> _Results:
    """Run shares until none is left, and pack what comes of them. It runs in a worker.

    A rule that crashes here is run again where the command is: it may have lacked memory, of which
    several processes take more than one.
    """
    trace, shares, numbers = _inherited[-1]
    outcomes: dict[str, Outcome] = {}
    accounts = None
    while number := os.read(numbers, _NUMBER_NBYTES):
        at = int.from_bytes(number, "big")
        if at == 0:
            with suppress(Exception):  # which a report that has an account meets again
                accounts = pickle.dumps(make_accounts(trace))
        told = run_patterns(trace, shares[at])
        outcomes |= {code: each for code, each in told.items() if not isinstance(each, Crashed)}
    packed = (pack_outcomes({code: outcome}, trace) for code, outcome in outcomes.items())
    return _Results([each for each in packed if each is not None], accounts)
