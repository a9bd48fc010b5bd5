"""What each rule takes by itself, and what the evidence takes that rules share.

The first rule that needs some evidence makes it, and a trace keeps it (tidy/trace/kept.py). So a
rule's own time is what it takes after all others have run, and after the account, which every
report makes and which needs some of the same evidence. What is left of the time of all rules in a
row, without their own times, is what they share.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

_ALL = "all rules"
# What takes less than this part of reading is not taken apart, and not shown.
_LEAST = 0.002


def measure_rules(path: Path) -> dict[str, float]:
    """Seconds of the processor as parts of reading: of all rules in a row, and each one's own."""
    import tidy
    from tidy.account import make_accounts
    from tidy.api import prepare
    from tidy.patterns.runner import run_patterns

    rules = prepare()
    begun = time.process_time()
    trace = tidy.load(path)
    read = time.process_time() - begun
    unasked = dict(vars(trace))
    first = {rule.code: _seconds(lambda rule=rule: run_patterns(trace, [rule])) for rule in rules}
    found = {_ALL: sum(first.values()) / read}
    for rule in rules:
        own = first[rule.code]
        if own >= _LEAST * read:
            vars(trace).clear()
            vars(trace).update(unasked)
            run_patterns(trace, [each for each in rules if each is not rule])
            make_accounts(trace)
            own = min(own, _seconds(lambda rule=rule: run_patterns(trace, [rule])))
        found[rule.code] = own / read
    return found


def _seconds(run) -> float:  # type: ignore[no-untyped-def]
    begun = time.process_time()
    run()
    return time.process_time() - begun


def print_shares(runs: list[dict[str, float]]) -> None:
    """Medians of several runs: all rules, the evidence that they share, the costliest rules."""
    usual = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    own = {code: share for code, share in usual.items() if code != _ALL}
    costliest = sorted(own, key=lambda code: -own[code])
    shown = ", ".join(f"{code} {own[code]:.3f}" for code in costliest if own[code] >= _LEAST)
    shared = usual[_ALL] - sum(own.values())
    print(f"    of reading: all rules {usual[_ALL]:.2f}, shared evidence {shared:.2f},", end=" ")
    print(f"own parts {sum(own.values()):.2f}: {shown}")
