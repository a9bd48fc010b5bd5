"""The recordings of one test, and what is asserted of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

from ..attach import Recorder
from ..check.settings import find_settings
from ..errors import TidyError
from ..finding import Severity
from ..page.document import report_to_html
from ..patterns.evidence.time.waits import waiting_calls
from ..report.text import render, summary
from ..trace import Capability, Intervals, Location, Trace, time_text

if TYPE_CHECKING:
    from ..report.report import Report

_TRAIN_INSIDE = "what trains has to run in `with tidy.profile(): ...`, or in the marked test"
_NO_STEP = (
    "no step was recorded, since no optimizer stepped: in a loop without one, step() of what"
    " `with tidy.profile() as` gives ends a step; without_steps=True checks all as one run"
)
# Reading the value of a tensor: `.item()`, `float(x)`, `if x:`.
_READS = ("aten::_local_scalar_dense",)
_OPTIMIZERS = "Optimizer.step#*"


def recorded_test(
    test: Callable[..., Any],
    given: Mapping[str, Any],
    fixture: TidyFixture,
    before: Callable[[], None],
) -> Callable[..., None]:
    """Run a test that is recorded, and checked when it has passed.

    Args:
        given: the arguments of its marker: those of `profile` and of `assert_clean`.
        before: is called first.

    Raises:
        pytest.fail.Exception: there is no such argument.
    """
    recorded, asserted = (
        {name: given[name] for name in signature(method).parameters if name in given}
        for method in (fixture.profile, fixture.assert_clean)
    )
    for name in given:
        if name not in {*recorded, *asserted}:
            _fail(_unknown(name, (fixture.profile, fixture.assert_clean)))

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        before()
        with closing(fixture):
            try:
                recorder = fixture.profile(**recorded)
                recorder.start()
            except TidyError as error:
                _fail(f"@pytest.mark.tidy: {error}")
            try:
                test(*args, **kwargs)
            finally:
                recorder.stop()
            fixture.assert_clean(**asserted)

    return run


class TidyFixture:
    """The fixture `tidy`; beside what stands here it has all that the module `tidy` has.

    Attributes:
        recordings: what was recorded, in order.
    """

    def __init__(self, test: str, root: Path, folder: str | None) -> None:
        """Begin a test.

        Args:
            test: its name, as pytest's node id.
            root: the folder of the project, whose configuration and comments hold.
            folder: where reports are kept, None for nowhere.
        """
        self.recordings: list[Recorder] = []
        self._test, self._root, self._folder = test, root, folder
        self._asserted = 0
        self._kept_count = 0

    def __getattr__(self, name: str) -> Any:
        import tidy

        return getattr(tidy, name)

    def profile(
        self,
        steps: int = 10,
        *,
        warmup: int = 1,
        after: int = 0,
        seconds: float = 60.0,
        stack: bool = True,
        shapes: bool = True,
        memory: bool = True,
        all_threads: bool = False,
        framework: str = "auto",
    ) -> Recorder:
        """Record what runs in a `with` statement: PyTorch or tidy.runtime, whichever is imported.

        A step ends with each step of the optimizer, or with `step()` of what `as` gives.

        Args:
            steps: how many steps at the most.
            warmup, after, seconds, stack, shapes, memory, all_threads, framework: as for
                `tidy.record`.

        Raises:
            UsageError: an argument makes no sense; on entering, nothing is imported that could be
                recorded, or a recording runs already.
        """
        arguments = dict(locals())
        del arguments["self"]
        recorder = Recorder(**arguments, title=self._test)
        self.recordings.append(recorder)
        return recorder

    def assert_clean(
        self,
        *,
        ignore: str | Iterable[str] | None = None,
        select: str | Iterable[str] | None = None,
        fail_on: str = "warning",
        max_step_ms: float | None = None,
        max_syncs: int | None = None,
        without_steps: bool = False,
    ) -> None:
        """Fail the test if something slows down what was recorded since the last call.

        The project's configuration holds, and its comments `# tidy: ignore[...]`. The test fails,
        too, if no step was recorded.

        Args:
            ignore: codes, prefixes of codes or names of rules to leave out.
            select: those to run; None for all.
            fail_on: the least severity that fails: "error", "warning" or "info"; "never" looks at
                the limits alone.
            max_step_ms: how long the median step may take.
            max_syncs: how often the steps may make the host wait for a device. Without a device it
                is how often they read a tensor's value, which waits where there is one.
            without_steps: whether operators are checked as one run if no step was recorded, as in
                a test of a model's inference.
        """
        if fail_on not in ("error", "warning", "info", "never"):
            _fail(f'tidy: fail_on is "error", "warning", "info" or "never", not {fail_on!r}')
        limits: dict[str, object] = {"max_step_ms": max_step_ms, "max_syncs": max_syncs}
        for name, limit in limits.items():
            if limit is not None and not (isinstance(limit, Real) and float(limit) >= 0):
                _fail(f"tidy: {name} is a number from 0 on, and not {limit!r}")
        recordings = self.recordings[self._asserted :]
        self._asserted = len(self.recordings)
        if not recordings:
            _fail(
                "tidy.assert_clean(): nothing was recorded; use `with tidy.profile(): ...` before"
            )
        threshold = None if fail_on == "never" else Severity[fail_on.upper()]
        texts = list[str]()
        for recorder in recordings:
            report = self._report(recorder, ignore, select)
            self._keep(report)
            said = [*_limits(report, max_step_ms, max_syncs)]
            if not recorder.trace.steps and not without_steps:
                said.insert(0, _NO_STEP)
            if (code := report.exit_code(threshold)) or said:
                found = summary([report]) if code else ""
                texts += [f"tidy: {'; '.join(filter(None, [found, *said]))}\n", render([report])]
        if texts:
            _fail("\n".join(texts))

    def _report(
        self,
        recorder: Recorder,
        ignore: str | Iterable[str] | None,
        select: str | Iterable[str] | None,
    ) -> Report:
        try:
            _ = recorder.trace
        except TidyError as error:
            _fail(f"tidy: no step was recorded: {error}; {_TRAIN_INSIDE}")
        try:
            file = find_settings(self._root).file
            return recorder.report(ignore=ignore, select=select, config=file, sources=self._root)
        except TidyError as error:
            _fail(f"tidy: {error}")

    def _keep(self, report: Report) -> None:
        """Write the report where `--tidy-report` wants it."""
        if self._folder is None:
            return
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._kept_count += 1
        number = f"-{self._kept_count}" if self._kept_count > 1 else ""
        name = f"{_file_name(self._test)}{number}"
        text, made = render([report]), json.dumps(report.to_json(), indent=1) + "\n"
        (folder / f"{name}.txt").write_text(text, "utf-8")
        (folder / f"{name}.json").write_text(made, "utf-8")
        (folder / f"{name}.html").write_text(report_to_html(report), "utf-8")

    def close(self) -> None:
        """End what is still being recorded; keep the reports on what nothing was asserted of."""
        for recorder in self.recordings:
            recorder.stop()
        if self._folder is not None:
            for recorder in self.recordings[self._asserted :]:
                try:
                    report = recorder.report()
                except TidyError:
                    continue  # nothing was recorded, which the test has not asked about
                self._keep(report)
        self._asserted = len(self.recordings)


def _fail(why: str) -> NoReturn:
    """Fail the test with one line."""
    raise pytest.fail.Exception(why, pytrace=False) from None


def _unknown(name: str, methods: Iterable[Callable[..., Any]]) -> str:
    known = [each for method in methods for each in signature(method).parameters]
    alike = get_close_matches(name, known, 1)
    todo = f"did you mean {alike[0]!r}?" if alike else f"it takes {', '.join(known)}"
    return f"@pytest.mark.tidy: unknown argument {name!r}; {todo}"


def _limits(report: Report, max_step_ms: float | None, max_syncs: int | None) -> Iterator[str]:
    """Say what is above a limit, or cannot be compared with it."""
    step_ns = report.summary.median_ns
    if max_step_ms is not None and step_ns is None:
        yield "no steps were recorded, so that max_step_ms cannot be checked"
    elif max_step_ms is not None and step_ns is not None and step_ns > max_step_ms * 1e6:
        yield f"a step takes {time_text(step_ns)}, and {max_step_ms:g} ms are allowed"
    if max_syncs is not None:
        count, words, first = _count_syncs(report.trace)
        if count > max_syncs:
            where = f", first at {first}" if first else ""
            yield f"{words} {count} times{where}, and {max_syncs} are allowed"


def _count_syncs(trace: Trace) -> tuple[int, str, Location | None]:
    """Count how often the host waits for a device in the steps; say what waits, and where first.

    These are the operators of all steps, or without steps of the whole recording, each once.
    Without a device they are reads of a tensor's value, but for those of optimizers, which read
    their own counters.
    """
    if Capability.DEVICE in trace.capabilities:
        words, calls = "the host waits for the device", waiting_calls(trace)
        callers = trace.caller[calls].astype(np.int64)
        rows = np.unique(np.where(callers >= 0, callers, calls))
    else:
        words, rows = "a tensor's value is read", trace.rows_named(*_READS)
        steps = trace.rows_named(_OPTIMIZERS)
        inside = Intervals(trace.start_ns[steps], trace.end_ns[steps])
        rows = rows[~inside.contains(trace.start_ns[rows])]
    if trace.steps:
        of_steps = Intervals([s.start_ns for s in trace.steps], [s.end_ns for s in trace.steps])
        rows = rows[of_steps.contains(trace.start_ns[rows])]
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    return len(rows), words, trace.location(int(rows[0])) if len(rows) else None


def _file_name(test: str) -> str:
    """The name of a test as that of a file; two tests have two."""
    name = re.sub(r"[^-.A-Za-z0-9_]+", "_", test).strip("._")[-100:]
    if name == test:
        return name
    return f"{name}-{hashlib.sha256(test.encode('utf-8', 'replace')).hexdigest()[:8]}"
