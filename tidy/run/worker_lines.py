"""What worker processes of loaders were seen at, as each wrote it."""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..trace.worker_functions import WorkerFunction, WorkerFunctions
from .child.worker_lines import LINES_FOLDER

_Key = tuple[str, str, int]  # file, function, first line
_LEAST = 0.05  # of the time, for a function to be kept
_MOST_FUNCTIONS = 12


def read_worker_lines(folder: Path, shown_path: Callable[[str], str]) -> dict[int, WorkerFunctions]:
    """By the number of the process what was seen of it; of a file cut short what is whole.

    The first batch counts where there is no other: much is loaded and set up in it.
    """
    found = {}
    for path in folder.glob(f"{LINES_FOLDER}/*"):
        if path.name.isdecimal():
            records = list(_records(path))
            later = [each for each in records if each[0]]
            if records:
                found[int(path.name)] = _functions(later or records, shown_path)
    return found


def _records(path: Path) -> Iterator[Any]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            number, sampled_ns, spent, measured = literal_eval(line)
        except (ValueError, SyntaxError, TypeError):
            return
        yield number, sampled_ns, spent, measured


def _functions(records: list[Any], shown_path: Callable[[str], str]) -> WorkerFunctions:
    by_line: dict[_Key, Counter[int]] = {}
    measured: dict[_Key, tuple[int, int, int, float]] = {}
    for _, _, spent, rounds in records:
        for *key, line, ns in spent:
            by_line.setdefault(tuple(key), Counter())[line] += ns
        for *key, calls, line, runs, part in rounds:
            measured[tuple(key)] = calls, line, runs, part
    sampled_ns = sum(each[1] for each in records)
    functions = []
    for key, lines in by_line.items():
        ns = sum(lines.values())
        if not key[1].isidentifier() or ns < _LEAST * sampled_ns:
            continue
        usual = max(lines, key=lines.__getitem__)
        calls, line, runs, part = measured.get(key, (0, usual, 0, 0.0))
        line_ns = round(part * ns) or lines[line]
        file, function, first_line = key
        place = shown_path(file), function, first_line, line
        functions.append(WorkerFunction(*place, ns, line_ns, calls, runs))
    functions.sort(key=lambda each: -each.ns)  # the order in which they were seen stays
    last = max(each[0] for each in records)
    return WorkerFunctions(sampled_ns, max(last, 1), tuple(functions[:_MOST_FUNCTIONS]))
