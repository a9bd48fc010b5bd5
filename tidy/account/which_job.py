"""Which traces are ranks of one job, by what their headers say and where their files lie."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

_SEPARATOR = re.compile(r"[/\\]")
_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,18}(?![0-9])")
Path = tuple[str, ...]  # folders and the file's name


class OfJob(Protocol):
    """What says which rank of a job something is of: the header of a trace, or a summary."""

    @property
    def rank(self) -> int | None: ...
    @property
    def world_size(self) -> int | None: ...
    @property
    def path(self) -> str: ...


def jobs_of(infos: Sequence[OfJob]) -> list[list[int]]:
    """Return the numbers of the traces of each job, in order of the traces given.

    Ranks of a job have as large a world. If a rank is there several times, ranks of one folder
    belong together, and so do files of it whose names are the same but for the rank. What such
    folders hold belongs to a job that lacks it: to the first one whose paths are the same but for
    that folder, or whose folders are, or else to the first.
    """
    jobs, of_size = list[list[int]](), defaultdict[int, list[int]](list)
    for number, info in enumerate(infos):
        if info.rank is None or (info.world_size or 1) < 2:
            jobs.append([number])
        else:
            of_size[info.world_size or 1].append(number)
    paths = [_path_of(info.path) for info in infos]
    ranks = [info.rank for info in infos]
    for numbers in of_size.values():
        names = names_without_rank([(paths[each][-1], ranks[each] or 0) for each in numbers])
        for number, name in zip(numbers, names, strict=True):
            paths[number] = (*paths[number][:-1], name)
        jobs += _by_folder(paths, ranks, numbers, 0)
    return sorted(jobs)


def names_without_rank(files: Sequence[tuple[str, int]]) -> list[str]:
    """Return names of files with `#` in place of the rank: `run1-rank#.json` of `run1-rank0.json`.

    A number is the rank only if it is that in all names that are the same but for it: cycles in
    a folder of each rank (`rank1/trace_1.json`) are numbered alike on others. Of several such
    numbers that is chosen whose name more ranks have in common.

    Args:
        files: the name and the rank of each.
    """
    having = defaultdict[str, set[int]](set)
    is_other = set[str]()  # names in which the number is none of the rank
    candidates = list[list[str]]()
    for name, rank in files:
        mine = [name]
        for each in reversed([*_NUMBER.finditer(name)]):  # the rank mostly comes last
            without = f"{name[: each.start()]}#{name[each.end() :]}"
            if int(each[0]) == rank:
                mine.append(without)
            else:
                is_other.add(without)
        for without in mine:
            having[without].add(rank)
        candidates.append(mine)
    return [
        max((each for each in mine if each not in is_other), key=lambda each: len(having[each]))
        for mine in candidates
    ]


def name_of(path: str) -> str:
    """Return the name of a file without its folders."""
    return _path_of(path)[-1]


def _path_of(text: str) -> Path:
    """Return the folders of a path and its file's name; `./a//b` is `a/b`."""
    first, *others = _SEPARATOR.split(text)
    if not others:
        return (first,)
    folders = (each for each in others[:-1] if each not in ("", "."))
    return (*(() if first == "." else (first,)), *folders, others[-1])


def _by_folder(
    paths: Sequence[Path], ranks: Sequence[int | None], numbers: list[int], depth: int
) -> list[list[int]]:
    """Part traces of one size of world that have so many folders in common into jobs."""
    if len({ranks[number] for number in numbers}) == len(numbers):
        return [numbers]
    fewest = min(len(paths[number]) for number in numbers) - 1
    while depth < fewest and len({paths[number][depth] for number in numbers}) == 1:
        depth += 1
    of_folder = defaultdict[str | None, list[int]](list)
    for number in numbers:
        path = paths[number]
        of_folder[path[depth] if depth < len(path) - 1 else None].append(number)
    parts = [[number] for number in of_folder.pop(None, ())]
    for each in of_folder.values():
        parts += _by_folder(paths, ranks, each, depth + 1)

    def rest_of(number: int) -> Path:
        """Return what of a path follows the folder that differs, or the file's name."""
        return paths[number][depth + 1 :] or paths[number][-1:]

    parts = _joined(parts, ranks, lambda part: frozenset(rest_of(each) for each in part))
    parts = _joined(parts, ranks, lambda part: frozenset(rest_of(each)[:-1] for each in part))
    return _joined(parts, ranks, lambda _: None)


def _joined(
    parts: list[list[int]], ranks: Sequence[int | None], alike: Callable[[list[int]], Hashable]
) -> list[list[int]]:
    """Join parts of which that is the same, each with the first ones that lack all its ranks."""
    of_key = defaultdict[Hashable, _Jobs](_Jobs)
    for part in sorted(parts):
        of_key[alike(part)].add(part, {ranks[number] for number in part})
    return [sorted(job) for jobs in of_key.values() for job in jobs.numbers]


class _Jobs:
    """Jobs that are put together of parts.

    Attributes:
        numbers: the traces of each.
    """

    def __init__(self) -> None:
        self.numbers = list[list[int]]()
        self._ranks = list[set[int | None]]()
        # Many traces of one rank would look at all jobs before each.
        self._first_lacking = defaultdict[int | None, int](int)

    def add(self, part: list[int], ranks: set[int | None]) -> None:
        """Put a part into the first job that lacks all of its ranks, a new one if there is none."""
        at = max(self._first_lacking[rank] for rank in ranks)
        while at < len(self._ranks) and not self._ranks[at].isdisjoint(ranks):
            at += 1
        if at == len(self._ranks):
            self.numbers.append([])
            self._ranks.append(set())
        self.numbers[at].extend(part)
        self._ranks[at].update(ranks)
        for rank in ranks:
            first = self._first_lacking[rank]
            while first < len(self._ranks) and rank in self._ranks[first]:
                first += 1
            self._first_lacking[rank] = first
