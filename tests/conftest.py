"""What all tests share: settings of hypothesis, of pytest, and a way to write small traces."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tidy
from tidy.trace import Trace

from . import not_run
from .environment import SOAK, with_quick_torch

settings.register_profile(
    "tidy",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=100 if SOAK else 50,
)
settings.load_profile("tidy")

ReadEvents = Callable[..., Trace]


@pytest.fixture
def read_events(tmp_path: Path) -> ReadEvents:
    """Write `traceEvents` (and a header) as the profiler would, and read the file."""

    def read(events: Sequence[Mapping[str, Any]], **header: Any) -> Trace:
        path = tmp_path / "written.pt.trace.json"
        path.write_text(json.dumps({**header, "traceEvents": list(events)}), "utf-8")
        trace = tidy.load(path)
        trace.self_check()
        return trace

    return read


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch computes with one thread: on a busy machine several wait for each other, longer than
    tensors as small as those of tests take.
    """
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start be interrupted, also where pytest itself was started in the background.

    A shell has SIGINT and SIGQUIT ignored there, `nohup` has SIGHUP, and a process that ignores a
    signal hands that on.
    """
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has the first alone
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            default = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
            signal.signal(number, default)
    config.pluginmanager.register(_NamesFailures(config))
    config.pluginmanager.register(not_run)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", metavar="SEED", help="run the tests in this random order")


def pytest_report_header(config: pytest.Config) -> str:
    """Say what to expect of the whole suite, and how to run less of it."""
    return (
        "the plain suite: some 9,000 cases, a few minutes on two idle processors; "
        "`pytest tests/cli` runs a part, `-k NAME` what is called so"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)  # noqa: S311 - the same order in each worker
    else:
        _put_together(items)


def _put_together(items: list[pytest.Item]) -> None:
    """What is asked of one recorded trace stands where the first of it does: a worker, which takes
    tests that are neighbours, then reads it once.
    """
    places: dict[object, int] = {}
    for number, item in enumerate(items):
        places.setdefault(_subject(item), number)
    items.sort(key=lambda item: places[_subject(item)])


def _subject(item: pytest.Item) -> object:
    """The recorded trace that a test is about, or the test itself."""
    path = item.callspec.params.get("path") if hasattr(item, "callspec") else None
    return path if isinstance(path, Path) else item


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Cases are made, and none goes: the garbage collector would look at them a thousand times."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the thousands of cases, and come by less often.

    With the defaults it takes an eighth of the plain suite's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What tests of PyTorch start does not load its compiler; for `make soak` it does."""
    quick = item.get_closest_marker("oracle") and not SOAK
    try:
        with with_quick_torch() if quick else nullcontext():
            return (yield)
    finally:
        _collections.freeze_what_stays()


class _Collections:
    """The garbage collector's passes over all there is.

    Once they take long, what they have come by before (PyTorch's modules, traces that were read) is
    left to itself: tests call for a pass hundreds of times.
    """

    _LONG_S = 0.05

    def __init__(self) -> None:
        self._began_s = self._longest_s = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._began_s = time.perf_counter()
        else:
            self._longest_s = max(self._longest_s, time.perf_counter() - self._began_s)

    def freeze_what_stays(self) -> None:
        if self._longest_s > self._LONG_S:
            gc.collect()
            gc.freeze()
            self._longest_s = 0.0


_collections = _Collections()


class _NamesFailures:
    """Names each failed test at once, since a long run may be stopped before its summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nfailed: {report.nodeid} ({report.when})")
