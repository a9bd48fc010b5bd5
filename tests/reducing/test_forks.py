"""Rules that forks run on one large trace say what they say in one process."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tidy import Pattern
from tidy.account import Accountant, make_accounts
from tidy.finding import Checked, NotChecked
from tidy.patterns.base import Match, Matches
from tidy.patterns.evidence.time import host_idle
from tidy.patterns.registry import load_builtin_patterns
from tidy.patterns.runner import run_patterns
from tidy.readers import read_trace
from tidy.reducing import forks
from tidy.reducing.forks import run_in_forks
from tidy.trace import Trace
from tidy.trace.outline import parse_outline

from ..cli.command import tidy
from ..endings import ENDINGS, needs_proc, run_alone, wait_until_over
from ..environment import SOAK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are safe on Linux alone")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "traces" / "train_cnn.json.gz"
_SHARED = ROOT.parent / "shared" / "traces"
_BESIDE = {".meta", ".tree", ".torchtidy"}  # what is said of a trace in a file beside it
_ALL = sorted(path for path in _SHARED.rglob("*.json*") if not _BESIDE & {*path.suffixes})
TRACES = _ALL if SOAK else [path for path in _ALL[::6] if path.stat().st_size < 1_000_000]


class SaysWhere(Pattern):
    """Say which process it ran in."""

    code, needs, fix = "ABC101", frozenset(), "none"

    def find(self, trace: Trace) -> Matches:
        yield Match(trace.events([0]), str(os.getpid()))


class DiesInForks(SaysWhere):
    """End the process, if that is a fork."""

    code = "ABC102"

    def find(self, trace: Trace) -> Matches:
        if os.getpid() != _OWN_PID:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().find(trace)


class StopsInForks(SaysWhere):
    """Stop the process, if that is a fork, as a signal from outside does."""

    code = "ABC105"

    def find(self, trace: Trace) -> Matches:
        if os.getpid() != _OWN_PID:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().find(trace)


class LacksMemoryInForks(SaysWhere):
    """Crash in a fork alone."""

    code = "ABC106"

    def find(self, trace: Trace) -> Matches:
        if os.getpid() != _OWN_PID:
            raise MemoryError
        return super().find(trace)


class CannotBeSent(SaysWhere):
    """Say it in a text that pickle does not know."""

    code = "ABC103"

    def find(self, trace: Trace) -> Matches:
        class Text(str):
            __slots__ = ()

        yield Match(trace.events([0]), Text(os.getpid()))


class Crashes(SaysWhere):
    """Crash."""

    code = "ABC104"

    def find(self, trace: Trace) -> Matches:
        raise ValueError("no such luck")


_OWN_PID = os.getpid()
_BAD = DiesInForks, StopsInForks, LacksMemoryInForks, CannotBeSent


@pytest.fixture(autouse=True)
def _small_traces_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "FEWEST_EVENTS", 0)
    # Threads of earlier tests keep forks away; here they do nothing that a fork would miss.
    monkeypatch.setattr(forks, "best_method", lambda: "fork")


@pytest.fixture
def own_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of this file are taken for tidy's own."""
    own = SaysWhere, Crashes, *_BAD
    monkeypatch.setattr(forks, "load_builtin_patterns", lambda: (*load_builtin_patterns(), *own))


def _one_event() -> Trace:
    return parse_outline("aten::mm 5us")


def _pid(outcome: Any) -> int:
    assert isinstance(outcome, Checked)
    return int(outcome.findings[0].message)


@pytest.mark.parametrize("path", [EXAMPLE, *TRACES], ids=lambda path: path.name[:40])
def test_reports_are_the_same(path: Path) -> None:
    for more in (("--format", "json"), ("--verbose",)):
        one, *others = (tidy("report", path, "--jobs", jobs, *more) for jobs in "124")
        assert others == [one, one]
        assert one.code in (0, 1, 2)


def test_forks_share_one_file_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one whose trace would not be held beside those of others."""
    monkeypatch.setattr("tidy.readers.text_size._MOST_NBYTES", 0)
    started, start = list[Any](), forks.Workers

    def workers(*given: Any) -> Any:
        started.append(given)
        return start(*given)

    monkeypatch.setattr(forks, "Workers", workers)
    assert tidy("report", EXAMPLE, "--jobs", "2") == tidy("report", EXAMPLE)
    assert started == [(2, "fork")]


def test_forks_run_the_rules_in_their_order(own_are_known: None) -> None:
    rules = [SaysWhere(), *(each() for each in load_builtin_patterns()[1:]), Crashes()]
    trace = read_trace(EXAMPLE)
    outcomes, expected = run_in_forks(trace, rules, 3), run_patterns(trace, rules)
    assert _pid(outcomes["ABC101"]) != os.getpid()
    assert list(outcomes) == list(expected)
    for code, outcome in expected.items():
        assert type(outcomes[code]) is type(outcome)
        if isinstance(outcome, NotChecked):
            assert outcomes[code] == outcome
        if isinstance(outcome, Checked) and code != "ABC101":
            assert list(map(str, outcomes[code].findings)) == list(map(str, outcome.findings))  # type: ignore[union-attr]
            assert all(each.events[0].trace is trace for each in outcomes[code].findings)  # type: ignore[union-attr]
    assert outcomes["ABC104"].error.startswith("ValueError: no such luck (find, line ")  # type: ignore[union-attr]


def test_a_fork_makes_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the window that the trace had; that of another one is made anew."""
    trace, expected = read_trace(EXAMPLE), make_accounts(read_trace(EXAMPLE))
    run_in_forks(trace, [], 2)
    of_one_step = trace.only_step("slowest")
    assert make_accounts(of_one_step) == make_accounts(read_trace(EXAMPLE).only_step("slowest"))
    assert make_accounts(of_one_step) != expected
    monkeypatch.delattr(Accountant, "_account")
    assert make_accounts(trace) == expected
    assert all(each.window is trace.window for each in make_accounts(trace))


def test_rules_that_ask_what_the_account_does_run_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asking, ask = set[str](), host_idle.host_in_window

    def asks(*given: Any) -> Any:
        asking.add(code)
        return ask(*given)

    monkeypatch.setattr(host_idle, "host_in_window", asks)
    for rule in load_builtin_patterns():
        code = rule.code
        for example in rule.examples:
            run_patterns(example.trace(), [rule()])
    assert asking == forks._WITH_THE_ACCOUNT


def test_rules_of_others_run_where_the_command_does() -> None:
    assert _pid(run_in_forks(_one_event(), [SaysWhere()], 2)["ABC101"]) == os.getpid()


@pytest.mark.parametrize("bad", _BAD)
def test_what_does_not_come_is_done_here(own_are_known: None, bad: type[Pattern]) -> None:
    rules = [bad(), *(each() for each in load_builtin_patterns()[1:])]
    outcomes = run_in_forks(_one_event(), rules, 2)
    assert list(outcomes) == [each.code for each in rules]
    assert _pid(outcomes[bad.code]) == os.getpid()


@pytest.mark.parametrize("why", ["one job", "few events", "another system"])
def test_no_forks_where_they_are_of_no_use(
    own_are_known: None, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "few events":
        monkeypatch.setattr(forks, "FEWEST_EVENTS", 2)
    if why == "another system":
        monkeypatch.setattr(forks, "best_method", lambda: "spawn")
    outcomes = run_in_forks(_one_event(), [SaysWhere()], 1 if why == "one job" else 2)
    assert _pid(outcomes["ABC101"]) == os.getpid()


def test_no_file_stays_open(own_are_known: None) -> None:
    before = [*Path("/proc/self/fd").iterdir()]
    assert _pid(run_in_forks(_one_event(), [SaysWhere()], 2)["ABC101"]) != os.getpid()
    assert len([*Path("/proc/self/fd").iterdir()]) == len(before)


_SCRIPT = """
import os, signal, sys
from pathlib import Path
from tidy.__main__ import main
from tidy.readers.workers import Workers
from tidy.reducing import forks

forks.FEWEST_EVENTS, real, pids = 0, Workers.wait_for, Path(sys.argv.pop())

def wait_for(self, task):
    pids.write_text(" ".join(map(str, self.pids)))
    %s
    real(self, task)

Workers.wait_for = wait_for
main()
"""


@needs_proc
@pytest.mark.parametrize(("how", "code", "said"), ENDINGS)
def test_no_fork_outlives_the_command(tmp_path: Path, how: str, code: int, said: str) -> None:
    script, pids = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(_SCRIPT % how, "utf-8")
    code_was, out, err = run_alone(script, "report", "--jobs", "2", EXAMPLE, pids)
    assert (code_was, out, err) == (code, "", said)
    workers = pids.read_text().split()
    assert len(workers) == 2
    wait_until_over(workers)
