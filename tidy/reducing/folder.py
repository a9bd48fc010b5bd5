"""All files of a command, to the summaries of their traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..account import jobs_of
from ..check.overlap import SeenSteps, stretches_of
from ..errors import UsageError
from ..readers.text_size import is_few
from ..readers.urls import is_url
from ..summary import Summary, decode
from .compared import compare
from .late import with_late_ranks
from .pool import FileCall, Here, LostCall, Pool
from .rank import (
    Compared,
    Look,
    Problem,
    RankFile,
    RankSettings,
    ReducedRank,
    forget,
    found_keys,
    look_at,
    reduce_held,
)

Progress = Callable[[Sequence[str], Sequence[str]], None]  # files done, and under way


@dataclass
class Reduced:
    """What came of the files.

    Attributes:
        summaries: those of traces, in the order of the files.
        read: the files that are traces, also those left out since another one has their steps.
        problems: why there is no summary, by file.
        notes: lines to say: which hold the same steps.
        tracebacks: of rules that crashed, by code, by file.
    """

    summaries: list[Summary] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tracebacks: dict[str, Mapping[str, str]] = field(default_factory=dict)


def reduce_files(
    paths: Sequence[str],
    settings: RankSettings,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> Reduced:
    """Read, check and reduce all files, each in one worker of the pool.

    The result does not depend on the pool. The ranks of a job are compared by their traces if the
    files are few (`is_few`), and else by the tables of collectives in their summaries.

    Args:
        pool: what calls functions on files; None for this process.

    Raises:
        UsageError: a trace has no such step as is asked for.
    """
    files = [RankFile(path, place=_place(path)) for path in paths]
    work = _Work(files, settings, pool or Here(), progress)
    return work.of_few() if is_few(paths) else work.of_many()


def _place(path: str) -> str:
    return path if is_url(path) else str(Path(path).absolute())


class _Work:
    def __init__(
        self, files: list[RankFile], settings: RankSettings, pool: Pool, progress: Progress | None
    ) -> None:
        self._files, self._settings, self._pool = files, settings, pool
        self._progress, self._done = progress, list[str]()
        self._here = Here()  # for files of which a rule says what no other process understands
        self._stay = frozenset[str]()  # the paths of these
        self._result = Reduced()

    def of_few(self) -> Reduced:
        """Compare by traces: read all, and weigh when all are read."""
        looks = self._looks()
        compared: dict[RankFile, Compared] = {}
        for job in jobs_of(list(looks.values())):
            if len(job) > 1:
                compared |= self._compared([[*looks][number] for number in job], looks)
        self._reduce([*looks], compared)
        return self._result

    def of_many(self) -> Reduced:
        """Compare by tables: reduce each as it is read."""
        self._reduce(self._files, {})
        kept = self._result.summaries
        seen, again = SeenSteps(self._result.notes), dict[int, RankFile]()
        left_out = set[int]()
        for number, summary in enumerate(kept):
            run = summary.run
            steps = [step for step, _ in summary.steps] if run.unit == "step" else []
            start_ns = run.first_ns if run.event_count else None
            mine = stretches_of(run.rank, start_ns, run.span_ns, steps)
            repeated = seen.add(run.path, mine, has_steps=bool(steps))
            if repeated is not None and repeated.is_all:
                left_out.add(number)
            elif repeated is not None:
                again[number] = RankFile(run.path, repeated, _place(run.path))
        if again:
            made = self._call(reduce_held, [*again.values()], {})
            for number, file in again.items():
                reduced = made.get(file.path)
                if reduced is not None:
                    kept[number] = self._taken(reduced, file.path)
                else:
                    left_out.add(number)
        for number in left_out:
            self._result.tracebacks.pop(kept[number].run.path, None)
        kept = [each for number, each in enumerate(kept) if number not in left_out]
        self._result.summaries = with_late_ranks(
            _numbered(kept), self._settings.for_checks(), self._result.tracebacks
        )
        return self._result

    def _looks(self) -> dict[RankFile, Look]:
        """What is known of the traces when they are read; those that are to be reported."""
        found = self._call(look_at, self._files, {})
        seen, looks = SeenSteps(self._result.notes), dict[RankFile, Look]()
        for file in self._files:
            look = found.get(file.path)
            if look is None:
                continue
            self._result.read.append(file.path)
            repeated = seen.add(file.path, look.stretches, has_steps=look.has_steps)
            if repeated is None:
                looks[file] = look
            elif not repeated.is_all:
                looks[replace(file, repeated=repeated)] = look
        some = {each.path for each in looks}
        self._forget([path for path in self._result.read if path not in some])
        return looks

    def _forget(self, paths: Sequence[str]) -> None:
        """Have the pool leave nothing of some files."""
        for _ in self._pool.run([FileCall(path, forget, ()) for path in paths], lambda _: None):
            pass

    def _compared(
        self, files: Sequence[RankFile], looks: Mapping[RankFile, Look]
    ) -> dict[RankFile, Compared]:
        checks = self._settings.for_checks()
        compared, held = compare({file: looks[file] for file in files}, self._settings, checks)
        self._here.hold(held)
        self._stay |= held.keys()
        self._forget([*held])
        keys = self._call(found_keys, files, {file: (each,) for file, each in compared.items()})
        everywhere = frozenset.intersection(*keys.values()) if keys else frozenset()
        return {file: replace(each, everywhere=everywhere) for file, each in compared.items()}

    def _reduce(self, files: Sequence[RankFile], compared: Mapping[RankFile, Compared]) -> None:
        """Add the summaries of all files that nothing was wrong with."""
        files = [file for file in files if file.path not in self._result.problems]
        made = self._call(
            reduce_held, files, {file: (each,) for file, each in compared.items()}, is_last=True
        )
        read = [file.path for file in files if file.path in made]
        self._result.read = self._result.read or read
        self._result.summaries = _numbered([self._taken(made[path], path) for path in read])

    def _taken(self, reduced: ReducedRank, path: str) -> Summary:
        if reduced.tracebacks:
            self._result.tracebacks[path] = reduced.tracebacks
        return decode(reduced.content, path)

    def _call(
        self,
        function: Callable[..., Any],
        files: Sequence[RankFile],
        more: Mapping[RankFile, tuple[Any, ...]],
        *,
        is_last: bool = False,
    ) -> dict[str, Any]:
        """Return what the function answers for each file; its problems are kept."""
        answers: dict[str, Any] = {}
        for pool, some in (
            (self._pool, [each for each in files if each.path not in self._stay]),
            (self._here, [each for each in files if each.path in self._stay]),
        ):
            paths = [each.path for each in some]
            calls = [
                FileCall(each.path, function, (each, self._settings, *more.get(each, ())))
                for each in some
            ]

            def watch(numbers: Sequence[int], paths: Sequence[str] = paths) -> None:
                if self._progress is not None:
                    self._progress(self._done, [paths[each] for each in numbers])

            for number, given in pool.run(calls, watch):
                answer = given
                if isinstance(given, LostCall):
                    answer = Problem(
                        given.why, traceback=given.traceback, is_of_cluster=given.is_of_cluster
                    )
                if isinstance(answer, Problem):
                    self._result.problems[paths[number]] = answer
                else:
                    answers[paths[number]] = answer
                if is_last:
                    self._done.append(paths[number])
        in_order = [file.path for file in files]
        problems = self._result.problems
        for path in in_order:
            if path in problems and problems[path].is_usage:
                raise UsageError(problems[path].text)
        self._result.problems = {
            each.path: problems[each.path] for each in self._files if each.path in problems
        }
        return answers


def _numbered(summaries: Sequence[Summary]) -> list[Summary]:
    """Number the summaries by their place among all."""
    return [replace(each, number=number) for number, each in enumerate(summaries)]
