"""TDY102 with the batches of the workers in the trace: what the waits are for.

The traces are drawn (`Loop`), and what is said follows from their numbers alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Finding, Severity
from tidy.account import make_accounts

from ..trace.loader_loop import Loop


def _found(loop: Loop, folder: Path) -> list[Finding]:
    return list(tidy.check(loop.trace(folder), select=["TDY102"]).findings)


def test_too_few_workers(tmp_path: Path) -> None:
    """Two workers give a batch every 20 ms to a loop that takes 5: eight would keep up."""
    (found,) = _found(Loop(), tmp_path)
    assert found.severity == Severity.WARNING
    assert "2 workers can make a batch every 20.0 ms, the rest of a step takes 5.00 ms" in (
        found.message
    )
    assert found.fix == "num_workers=8, or cheaper items"
    assert found.saving is not None
    fastest, slowest = found.saving.step_ns_after
    assert 0.75 * 5e6 <= fastest <= slowest < 9e6  # what remains may get a fifth faster


def test_enough_workers(tmp_path: Path) -> None:
    assert _found(Loop(workers=8), tmp_path) == []
    assert _found(Loop(workers=2, step_ms=25), tmp_path) == []


def test_batches_that_are_ready_and_soon_received(tmp_path: Path) -> None:
    """Workers have no part in a wait of 1 ms, but in one of 10 ms for what they send."""
    ready = Loop(workers=4, batch_ms=4, step_ms=5, receive_ms=1)
    assert _found(ready, tmp_path) == []
    (found,) = _found(replace(ready, receive_ms=10), tmp_path)
    assert "to receive" in found.message


@pytest.mark.parametrize(("workers", "step_ms"), [(1, 3), (2, 10), (4, 2)])
def test_as_many_as_the_fix_says_keep_up(workers: int, step_ms: float, tmp_path: Path) -> None:
    loop = Loop(workers=workers, step_ms=step_ms, count=80)
    (found,) = _found(loop, tmp_path)
    count = int(found.fix.removeprefix("num_workers=").partition(",")[0])
    assert count > workers
    assert _found(replace(loop, workers=count), tmp_path) == []


def test_work_that_needs_processors_which_there_are_not(tmp_path: Path) -> None:
    """With two processors one worker leaves no room for another."""
    loop = Loop(workers=1, cpu_share=0.95, cpu_count=2)
    (found,) = _found(loop, tmp_path)
    assert found.fix.startswith("make the items cheaper: 2 processors")
    assert found.saving is None
    (found,) = _found(replace(loop, cpu_count=5), tmp_path)
    assert found.fix == "num_workers=4, as there are processors for, and cheaper items"
    (found,) = _found(replace(loop, cpu_share=0.1), tmp_path)
    assert found.fix.startswith("num_workers=8, or cheaper items")


def test_workers_that_wait_for_processes_of_their_own(tmp_path: Path) -> None:
    """A worker that hardly computes, but whose children do, needs as many processors as they."""
    loop = Loop(workers=1, cpu_share=0.05, beside_share=0.9, cpu_count=2)
    (found,) = _found(loop, tmp_path)
    assert found.fix.startswith("make the items cheaper: 2 processors")
    assert found.message.endswith("; the workers wait for threads or processes of their own")
    (found,) = _found(replace(loop, cpu_count=5), tmp_path)
    assert found.fix == "num_workers=4, as there are processors for, and cheaper items"
    (found,) = _found(replace(loop, cpu_count=9, beside_share=2.55), tmp_path)
    assert found.fix == "num_workers=3, as there are processors for, and cheaper items"


def test_workers_that_compute_beside_threads_of_their_own(tmp_path: Path) -> None:
    """Threads of a library have as much of the processors as the worker, which does not wait."""
    loop = Loop(workers=1, cpu_share=0.9, beside_share=0.95, cpu_count=4)
    (found,) = _found(loop, tmp_path)
    assert "waits for the DataLoader" in found.message
    assert "of their own" not in found.message
    # Those that get no processor do not wait for their threads either.
    (found,) = _found(replace(loop, cpu_share=0.3, queued_share=0.4, beside_share=0.5), tmp_path)
    assert "of their own" not in found.message


def test_more_workers_than_processors(tmp_path: Path) -> None:
    """Those that only wait may be more, and PyTorch warns of it: the fix says why."""
    (found,) = _found(Loop(cpu_count=2), tmp_path)
    waits = "; workers that mostly wait may outnumber the processors"
    assert found.fix == f"num_workers=8, or cheaper items{waits}"
    (found,) = _found(Loop(cpu_count=8), tmp_path)
    assert found.fix == "num_workers=8, or cheaper items"


def test_batches_that_take_long_to_receive(tmp_path: Path) -> None:
    (found,) = _found(Loop(batch_ms=4, receive_ms=12), tmp_path)
    assert "waits 12.0 ms a batch to receive" in found.message
    assert found.fix.startswith("send less")


def test_single_slow_batches(tmp_path: Path) -> None:
    loop = Loop(batch_ms=8, step_ms=10, slow=(6, 11, 16, 21), prefetch=1)
    (found,) = _found(loop, tmp_path)
    assert "for single batches that come late" in found.message
    assert found.fix.startswith("raise prefetch_factor")


def test_workers_without_a_processor(tmp_path: Path) -> None:
    """What is late on a crowded machine may be late for any reason."""
    (found,) = _found(Loop(batch_ms=4, receive_ms=12, queued_share=0.6), tmp_path)
    assert "wait for a processor 60% of the time that they work" in found.message
    assert found.severity == tidy.Severity.INFO  # the machine may have done other things


@pytest.mark.parametrize(
    "loop",
    [
        Loop(batch_ms=4, receive_ms=12),
        Loop(batch_ms=8, step_ms=10, slow=(6, 11, 16, 21), prefetch=1),
    ],
)
def test_a_script_without_processors(loop: Loop, tmp_path: Path) -> None:
    """Where other work keeps the script itself waiting, batches are late for that."""
    (found,) = _found(replace(loop, crowd_share=0.55), tmp_path)
    assert "while the script waits for processors 55% of the time" in found.message
    assert found.severity == Severity.INFO
    (found,) = _found(replace(loop, crowd_share=0.2), tmp_path)
    assert "while the script waits" not in found.message


def test_beside_a_modelled_device_workers_have_a_processor(tmp_path: Path) -> None:
    """What the processors of this machine are busy with is no fault of the script's."""
    loop = Loop(batch_ms=20, step_ms=5, cpu_share=0.3, queued_share=0.7, is_modelled=True)
    assert _found(loop, tmp_path) == []  # 6 ms a batch with a processor, 3 ms for each of two
    (found,) = _found(replace(loop, cpu_share=0.7, queued_share=0.3), tmp_path)
    assert "2 workers can make a batch every 7.00 ms" in found.message


def test_a_loop_that_no_worker_holds_up(tmp_path: Path) -> None:
    assert _found(Loop(batch_ms=2, step_ms=30), tmp_path) == []


def test_the_account_tells_work_from_receiving(tmp_path: Path) -> None:
    (account,) = make_accounts(Loop(batch_ms=40, receive_ms=5, step_ms=5).trace(tmp_path))
    parts = {kind: ns / 1e6 for part in account.parts for kind, ns in part.kinds}
    receiving = parts["receiving batches from the loader's workers"]
    count = len(account.window.steps)
    assert receiving == pytest.approx(5 * count, rel=0.02)
    # A batch comes every 20 ms; 10 of them go into receiving the one before and into the step.
    assert parts["waiting for the loader's workers"] == pytest.approx(10 * count, rel=0.3)


_PAD = {
    "file": "data.py",
    "function": "pad",
    "first_line": 9,
    "line": 13,
    "ns": 830_000_000,
    "line_ns": 800_000_000,
    "calls": 1,
    "runs": 960,
}
_WRAPPER = _PAD | {"function": "collate", "first_line": 20, "line": 21, "ns": 900_000_000}
_BUSY = Loop(cpu_share=1.0, functions=(_WRAPPER, _PAD))


def test_a_loop_in_the_workers_comes_before_more_of_them(tmp_path: Path) -> None:
    """Of a batch's 41 ms in the line each of 960 runs has 35 us."""
    (found,) = _found(_BUSY, tmp_path)
    assert found.message.endswith("; 83% of the workers' time is in pad()")
    assert (
        found.fix == "first make pad() cheaper (whole arrays in place of loops); then num_workers=8"
    )
    assert str(found.fix_place) == "pad() loops at data.py:13"
    (found,) = _found(replace(_BUSY, cpu_count=2), tmp_path)
    assert found.fix.startswith("make pad() cheaper (whole arrays in place of loops): 2 processors")


def test_long_calls_in_the_workers(tmp_path: Path) -> None:
    """Sixteen items a batch, each with one call of 2 ms."""
    decode = _PAD | {"function": "decode", "calls": 16, "runs": 16}
    (found,) = _found(replace(_BUSY, functions=(decode,)), tmp_path)
    assert found.message.endswith("; 83% of the workers' time is in decode() at data.py:13")
    assert found.fix.startswith("num_workers=8, or make the work at data.py:13 cheaper")
    assert found.fix_place is None
    # A loop over the items makes it no loop of short rounds.
    (found,) = _found(replace(_BUSY, functions=(decode | {"calls": 1},)), tmp_path)
    assert found.fix.startswith("num_workers=8, or make the work at data.py:13 cheaper")


def test_a_function_that_was_not_measured(tmp_path: Path) -> None:
    """Its line may be another one, and what takes the time is not known."""
    unknown = _PAD | {"calls": 0, "runs": 0}
    (found,) = _found(replace(_BUSY, functions=(unknown,)), tmp_path)
    assert found.message.endswith("is in pad() at data.py:9")
    assert found.fix == "num_workers=8, or make pad() cheaper"


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(replace(_BUSY, cpu_share=0.4), id="sleeps"),
        pytest.param(replace(_BUSY, functions=(_PAD | {"ns": 400_000_000},)), id="little"),
        pytest.param(replace(_BUSY, functions=(_PAD | {"calls": 5000},)), id="short calls"),
        pytest.param(replace(_BUSY, functions=(_PAD | {"ns": "much"},)), id="nonsense"),
        pytest.param(replace(_BUSY, functions=(_PAD | {"file": None}, {})), id="no file"),
    ],
)
def test_no_function_is_named(loop: Loop, tmp_path: Path) -> None:
    (found,) = _found(loop, tmp_path)
    assert found.message.endswith("the rest of a step takes 5.00 ms")
    assert found.fix == "num_workers=8, or cheaper items"


def test_an_option_says_how_much_is_named(tmp_path: Path) -> None:
    trace = _BUSY.trace(tmp_path)
    for least, inner in ((0.8, "pad()"), (0.85, "collate()")):
        options = {"TDY102": {"most-of-workers": least}}
        (found,) = tidy.check(trace, select=["TDY102"], options=options).findings
        assert f"is in {inner}" in found.message


def test_short_calls_count_for_what_makes_them(tmp_path: Path) -> None:
    letter = _PAD | {"function": "letter", "calls": 5000, "runs": 5000, "ns": 700_000_000}
    (found,) = _found(replace(_BUSY, functions=(_WRAPPER, _PAD, letter)), tmp_path)
    assert "is in pad()" in found.message


def test_workers_that_wait_for_processors_name_their_function(tmp_path: Path) -> None:
    loop = replace(_BUSY, batch_ms=4, receive_ms=12, queued_share=0.6, cpu_share=0.4)
    (found,) = _found(loop, tmp_path)
    assert "wait for a processor" in found.message
    assert "is in pad()" in found.message
    assert found.fix.startswith("make pad() cheaper (whole arrays in place of loops), or run less")


@pytest.mark.parametrize(
    "said",
    [
        None,
        7,
        {},
        {"loaders": 3, "cpu_count": "many"},
        {"loaders": [None, {"pids": "x"}, {"pids": [1e99, None, -3]}]},
        {"loaders": [{"pids": [900, 901], "num_workers": -2, "batch_ns": 1e300, "cpu_share": []}]},
    ],
)
def test_odd_headers(said: Any, tmp_path: Path) -> None:
    """What the ranges say is enough; a header that says nonsense is no reason to fail."""
    path = tmp_path / "trace.json"
    document = {"tidy_loader_workers": said, "traceEvents": Loop().written()}
    path.write_text(json.dumps(document), "utf-8")
    report = tidy.check(tidy.load(path), select=["TDY102"])
    assert not report.crashed
    (found,) = report.findings
    assert "2 workers can make a batch every 20.0 ms" in found.message


def test_odd_ranges(tmp_path: Path) -> None:
    """Numbers far apart, workers of one name, ranges without length."""
    events = Loop().written()
    workers = [each for each in events if each.get("cat") == "dataloader_worker"]
    for number, each in enumerate(workers):
        each["name"] = f"DataLoader worker 0: batch {10 ** (number % 18)}"
        each["dur"] = 0 if number % 2 else each["dur"]
        each["tid"] = "a text" if number % 3 == 0 else each["tid"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), "utf-8")
    assert not tidy.check(tidy.load(path)).crashed
