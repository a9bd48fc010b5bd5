"""The traces that a command line names: which files they are, and reading them one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import TraceFormatError, UnreadableFile, UsageError
from .progress import ReadProgress
from .readers import read_trace
from .report.units import printable
from .trace import Trace

_SUFFIXES = (".json", ".json.gz", ".json.zip", ".sqlite", ".nvprof")


@dataclass(slots=True)
class InputFiles:
    """The files to read, and what became of those that could not be.

    Attributes:
        files: (path, folder it was found in or ""), each once.
        asked: paths of the files that were given themselves.
        unreadable: problem by path of what was asked for and could not be had.
        skipped: number of files by folder that are no traces.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)

    def read(self) -> Iterator[Trace]:
        """Read each; a bar shows on a terminal how far."""
        read: list[tuple[str, str]] = []
        with ReadProgress([path for path, _ in self.files]) as progress:
            for path, folder in self.files:
                try:
                    trace = read_trace(path, progress.start(path))
                except TraceFormatError as error:
                    foreign = folder and path not in self.asked
                    if foreign and not isinstance(error, UnreadableFile):
                        self.skipped[folder] = self.skipped.get(folder, 0) + 1
                    else:
                        self.unreadable[error.path] = error.problem
                    continue
                read.append((path, folder))
                yield trace
        self.files = read

    def say_what_is_missing(self) -> None:
        """Once all are read: name on stderr what was left out or could not be read."""
        for folder, count in self.skipped.items():
            if all(found_in != folder for _, found_in in self.files):
                self.unreadable[folder] = "a folder without traces that tidy can read"
            else:
                say(f"{folder}: {count:,} other JSON file(s) or databases left out, no traces")
        for path, problem in self.unreadable.items():
            say(f"{path}: {problem}")


def find_files(traces: Sequence[str]) -> InputFiles:
    """The files meant: those given, and all that may be traces in the folders given."""
    inputs = InputFiles()
    files: dict[str, str] = {}
    for given in dict.fromkeys(traces):
        folder = Path(given)
        if given == "-" or not _is(folder.is_dir):
            files.setdefault(given, "")
            inputs.asked.add(given)
            continue
        likely = [path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES)]
        found = sorted(path for path in likely if _is(path.is_file))
        files |= {str(path): given for path in found}
        if not found:
            inputs.unreadable[given] = "a folder without traces (no .json, .json.gz, .sqlite in it)"
    inputs.files += files.items()
    return inputs


def check_output(output: str | None) -> None:
    """Before the work: is there a folder to write `--output` to?

    Raises:
        UsageError: there is none.
    """
    if output is not None and not _is(Path(output).parent.is_dir):
        raise UsageError(f"--output {output}: cannot be written: no such folder")


def _is(question: Callable[[], bool]) -> bool:
    """The answer, or False where the system gives none: the path is too long, or forbidden."""
    try:
        return question()
    except OSError:
        return False


def say(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"tidy: {printable(message)}\n")
