"""The files that a command line names: the traces to read, and where the output goes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..errors import TraceFormatError, UnreadableFile, UsageError, reason_of
from ..progress import reading, say
from ..readers import read_trace
from ..readers.urls import files_at, is_url
from ..trace import Trace, count_text
from .wrong_kind import has_summary, has_summary_at, not_a_trace

if TYPE_CHECKING:
    from ..summary import Summary

_MOST_NAMED = 3
_SUFFIXES = (".json", ".json.gz", ".json.zip", ".sqlite", ".nvprof")


@dataclass(slots=True)
class InputFiles:
    """The files to read, and what became of those that could not be read.

    Attributes:
        files: each file once, as (path, folder it was found in, or "" if it was given itself).
        asked: the paths of the files that were given themselves.
        unreadable: what was asked for and could not be read: the problem by path.
        skipped: the files of each folder that are not traces.
        links: by folder, or path of what was asked for itself, the file that is read and further
            links to it, or to others that are read.
        lost: those that are unreadable since a cluster was lost, all for one reason.
        lost_links: how many links of each folder lead nowhere.
        jobs: how many worker processes read files, or a large one; 1 for none.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    lost_links: dict[str, int] = field(default_factory=dict)
    jobs: int = 1
    _taken: list[tuple[str, str]] = field(default_factory=list)

    def take_summaries(self) -> list[tuple[str, Summary]]:
        """Read the summaries among the files, each with its path; what is left are traces."""
        summaries, others = [], []
        for path, folder in self.files:
            if not has_summary(path):
                others.append((path, folder))
                continue
            from ..summary import decode  # loads the form of the files

            self._taken.append((path, folder))
            try:
                summaries.append((path, decode(Path(path).read_bytes(), path)))
            except TraceFormatError as error:
                self.unreadable[path] = error.problem
            except OSError as error:
                self.unreadable[path] = f"cannot be read: {reason_of(error)}"
        self.files = others
        return summaries

    def read(self) -> Iterator[Trace]:
        """Read one file after the other; on a terminal a bar shows how far it is."""
        read: list[tuple[str, str]] = []
        with reading([path for path, _ in self.files]) as start:
            for path, folder in self.files:
                try:
                    trace = read_trace(path, start(path), self.jobs)
                except TraceFormatError as error:
                    is_foreign = not isinstance(error, UnreadableFile)
                    self.refuse(path, error.problem, is_foreign=is_foreign, name=error.path)
                    continue
                except MemoryError:
                    self.refuse(path, "cannot be read: not enough memory", is_foreign=False)
                    continue
                read.append((path, folder))
                yield trace
        self.files = [*self._taken, *read]

    def refuse(self, path: str, problem: str, *, is_foreign: bool, name: str | None = None) -> None:
        """Note why a file is none of the traces.

        Args:
            is_foreign: whether it can be read, and is none.
            name: what messages call it, if not by its path.
        """
        folder = dict(self.files).get(path)
        is_among_others = folder and path not in self.asked and is_foreign
        if folder and is_among_others and not has_summary_at(path):
            self.skipped.setdefault(folder, []).append(path)
        else:
            self.unreadable[name or path] = not_a_trace(path) or problem

    def lose(self, path: str, problem: str) -> None:
        """Note why a file was not read, as were others for the same reason."""
        self.lost.append(path)
        self.unreadable[path] = problem

    def take_read(self, paths: Iterable[str]) -> None:
        """Note which files were read."""
        read = set(paths)
        self.files = [*self._taken, *(each for each in self.files if each[0] in read)]

    def say_what_is_missing(self) -> None:
        """Name on stderr what was left out or could not be read. Call it when all are read."""
        for path, (first, *others) in self.links.items():
            if others == [path]:
                say(f"{path}: the same file as {first}; left out")
            else:
                say(f"{path}: {count_text(len(others), 'link')} to what is read already left out")
        for folder, count in self.lost_links.items():
            say(f"{folder}: {count_text(count, 'link')} to traces that are not there")
        for folder, others in self.skipped.items():
            if all(found_in != folder for _, found_in in self.files):
                self.unreadable[folder] = "a folder without traces that tidy can read"
            else:
                what = f"{len(others):,} other JSON file(s) or databases left out, no traces"
                say(f"{folder}: {what}: {_some_names(others)}")
        if self.lost:
            not_read = f"{count_text(len(self.lost), 'file')} not read: {_some_names(self.lost)}"
            say(f"{self.unreadable[self.lost[0]]}; {not_read}")
        lost = set(self.lost)
        for path, problem in self.unreadable.items():
            if path not in lost:
                say(f"{path}: {problem}")


def _some_names(paths: Sequence[str]) -> str:
    """Return the names of the first files of some."""
    names = [Path(each).name for each in paths[:_MOST_NAMED]]
    return ", ".join([*names, "..."] if len(paths) > _MOST_NAMED else names)


def find_files(traces: Sequence[str], jobs: int | None = None) -> InputFiles:
    """Return the files that were given, and all files in the given folders that may be traces.

    Args:
        traces: files, folders, or "-" for standard input.
        jobs: how many worker processes read files, or a large one; 1 or None for none.
    """
    inputs = InputFiles(jobs=jobs or 1)
    files: dict[str, str] = {}
    for given in dict.fromkeys(traces):
        folder = Path(given)
        if is_url(given):
            _find_at(given, files, inputs)
            continue
        if given == "-" or not _is(folder.is_dir):
            files.setdefault(given, "")
            inputs.asked.add(given)
            continue
        likely = [path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES)]
        in_folder = sorted(path for path in likely if _is(path.is_file))
        files |= {str(path): given for path in in_folder}
        lost = len([path for path in likely if path.is_symlink() and not _is(path.exists)])
        if lost:
            inputs.lost_links[given] = lost
        if not in_folder:
            inputs.unreadable[given] = "a folder without traces (no .json, .json.gz, .sqlite in it)"
    inputs.files += _each_once(files, inputs.links)
    return inputs


def _find_at(url: str, files: dict[str, str], inputs: InputFiles) -> None:
    """Add what an address of fsspec names."""
    try:
        found = files_at(url, _SUFFIXES)
    except UnreadableFile as error:
        inputs.unreadable[url] = error.problem
        return
    except OSError as error:
        inputs.unreadable[url] = f"cannot be read: {reason_of(error)}"
        return
    if found is None:
        files.setdefault(url, "")
        inputs.asked.add(url)
    elif not found:
        inputs.unreadable[url] = "names no trace"
    for each in found or ():
        files.setdefault(each, url)


def _each_once(files: dict[str, str], links: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Leave out further links to a file; those of a folder are noted, before them the first."""
    first = dict[object, str]()
    # What is no link names a file best, and what was asked for by its name better still.
    for path in sorted(files, key=lambda each: (files[each] != "", _is(Path(each).is_symlink))):
        first.setdefault(_identity(path), path)
    kept = []
    for path, folder in files.items():
        known = first[_identity(path)]
        if known == path:
            kept.append((path, folder))
        else:
            links.setdefault(folder or path, [known]).append(path)
    return kept


def _identity(path: str) -> object:
    """What two paths of one file have in common."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return path
    is_known = found.st_ino and stat.S_ISREG(found.st_mode)
    return (found.st_dev, found.st_ino) if is_known else path


def check_output(output: str | None, option: str = "--output", sources: Iterable[str] = ()) -> None:
    """Before the work begins, look whether a file can be written and is none of the `sources`.

    Raises:
        UsageError: it cannot, or it is; the message names the option that gave it.
    """
    if output is None or output == "-":
        return
    path = Path(output)
    problem = None
    if _is(path.is_dir):
        problem = "cannot be written: this is a folder; name a file in it"
    elif not _is(path.parent.is_dir):
        problem = "cannot be written: no such folder"
    elif not os.access(path if _is(path.exists) else path.parent, os.W_OK):
        problem = "cannot be written: permission denied"
    for source in sources:
        if _is(lambda source=source: path.samefile(source)):  # type: ignore[misc]
            problem = f"this is {source}, which would be lost; name another file"
    if problem is not None:
        raise UsageError(f"{option} {output}: {problem}")


@contextmanager
def opened(output: str | None, *, even_empty: bool = False) -> Iterator[IO[str]]:
    """Standard output for None and "-", else a text that becomes the file once it is complete.

    An empty text becomes none, unless `even_empty`.
    """
    if output is None or output == "-":
        yield sys.stdout
        return
    text = StringIO()
    yield text
    if not text.tell() and not even_empty:
        return
    try:
        Path(output).write_text(text.getvalue(), encoding="utf-8", newline="\n")
    except OSError as error:
        sys.stdout.write(text.getvalue())  # it is not lost where there is a terminal
        raise UsageError(f"--output {output}: cannot be written: {reason_of(error)}") from error


def _is(question: Callable[[], bool]) -> bool:
    """The answer, or False where the system refuses one: the path is too long, or forbidden."""
    try:
        return question()
    except OSError:
        return False


def of_step(trace: Trace, step: str | None) -> Trace:
    """Return the trace with the window that `--step` asks for; None asks for none."""
    try:
        return trace if step is None else trace.only_step(step)
    except ValueError as error:
        raise UsageError(f"--step {step}: {trace.info.path} has {error}") from error
