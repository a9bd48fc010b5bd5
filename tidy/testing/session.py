"""What one test recorded, and what is asserted of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .. import api
from ..attach import Recorder
from ..config.settings import find_settings
from ..errors import TidyError
from ..finding import Severity
from ..report.text import render, summary
from ..trace import time_text

if TYPE_CHECKING:
    from ..report.report import Report

_ASSERTED = ("ignore", "select", "fail_on", "max_step_ms", "max_syncs")


def recorded_test(
    test: Callable[..., Any],
    given: Mapping[str, Any],
    fixture: TidyFixture,
    before: Callable[[], None],
) -> Callable[..., None]:
    """A test that is recorded, and checked when it has passed.

    Args:
        test: what it does.
        given: the arguments of its marker: those of `profile` and of `assert_clean`.
        fixture: records and checks.
        before: is called first.
    """
    asserted = {name: value for name, value in given.items() if name in _ASSERTED}
    recorded = {name: value for name, value in given.items() if name not in asserted}

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        before()
        try:
            with fixture.profile(**recorded):
                test(*args, **kwargs)
            fixture.assert_clean(**asserted)
        finally:
            fixture.close()

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

    def profile(self, steps: int = 10, **options: Any) -> Recorder:
        """Record what runs in a `with` statement: PyTorch or tidy.runtime, whichever is imported.

        A step ends with each step of the optimizer, or with `step()` of what `as` gives.

        Args:
            steps: how many steps at the most.
            options: those of `tidy.record`: warmup, stack, shapes, memory, framework, ...

        Raises:
            UsageError: an argument makes no sense; on entering, nothing is imported that could be
                recorded, or a recording runs already.
        """
        recorder = Recorder(steps, title=self._test, **options)
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
    ) -> None:
        """Fail the test where something slows down what was recorded since the last call.

        The project's configuration holds, and its comments `# tidy: ignore[...]`.

        Args:
            ignore: codes, prefixes of codes or names of rules to leave out.
            select: those to run; None for all.
            fail_on: the least severity that fails: "error", "warning" or "info"; "never" looks at
                the limits alone.
            max_step_ms: how long the median step may take.
            max_syncs: how often the steps may make the host wait for a device. Without a device it
                is how often they read a tensor's value, which waits where there is one.
        """
        if fail_on not in ("error", "warning", "info", "never"):
            raise ValueError(f'fail_on is "error", "warning", "info" or "never", not {fail_on!r}')
        recordings = self.recordings[self._asserted :]
        self._asserted = len(self.recordings)
        if not recordings:
            pytest.fail(
                "tidy.assert_clean(): nothing was recorded; use `with tidy.profile(): ...` before",
                pytrace=False,
            )
        threshold = None if fail_on == "never" else Severity[fail_on.upper()]
        texts = list[str]()
        for recorder in recordings:
            report = self._report(recorder, ignore, select)
            self._keep(report)
            said = [*_limits(report, max_step_ms, max_syncs)]
            if (code := report.exit_code(threshold)) or said:
                found = summary([report]) if code else ""
                texts += [f"tidy: {'; '.join(filter(None, [found, *said]))}\n", render([report])]
        if texts:
            pytest.fail("\n".join(texts), pytrace=False)

    def _report(
        self,
        recorder: Recorder,
        ignore: str | Iterable[str] | None,
        select: str | Iterable[str] | None,
    ) -> Report:
        settings = find_settings(self._root)
        try:
            return api.check(
                recorder.trace,
                ignore=ignore,
                select=select,
                config=settings.file,
                sources=self._root,
            )
        except TidyError as error:
            raise pytest.fail.Exception(f"tidy: {error}", pytrace=False) from None

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

    def close(self) -> None:
        """End what is still being recorded; keep the reports on what nothing was asserted of."""
        for recorder in self.recordings:
            recorder.stop()
        if self._folder is not None:
            for recorder in self.recordings[self._asserted :]:
                try:
                    report = api.check(recorder.trace)
                except TidyError:
                    continue  # nothing was recorded, which the test has not asked about
                self._keep(report)
        self._asserted = len(self.recordings)


def _limits(report: Report, max_step_ms: float | None, max_syncs: int | None) -> Iterator[str]:
    """What is above a limit, or cannot be compared with it."""
    step_ns = report.summary.step_ns
    if max_step_ms is not None and step_ns is None:
        yield "no steps were recorded, so that max_step_ms cannot be checked"
    elif max_step_ms is not None and step_ns is not None and step_ns > max_step_ms * 1e6:
        yield f"a step takes {time_text(step_ns)}, and {max_step_ms:g} ms are allowed"
    if max_syncs is not None:
        from .syncs import count_syncs

        count, words, first = count_syncs(report.trace)
        if count > max_syncs:
            where = f", first at {first}" if first else ""
            yield f"{words} {count} times{where}, and {max_syncs} are allowed"


def _file_name(test: str) -> str:
    """The name of a test as that of a file; two tests have two."""
    name = re.sub(r"[^-.A-Za-z0-9_]+", "_", test).strip("._")[-100:]
    if name == test:
        return name
    return f"{name}-{hashlib.sha256(test.encode('utf-8', 'replace')).hexdigest()[:8]}"
