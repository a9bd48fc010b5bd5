"""Which traces are ranks of one job, by what their headers say and where their files lie."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

_SEPARATOR = re.compile(r"[/\\]")


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
    belong together; and of these, and of folders that lack ranks, each belongs to the first job
    that lacks it.
    """
    jobs, of_size = list[list[int]](), defaultdict[int, list[int]](list)
    for number, info in enumerate(infos):
        if info.rank is None or (info.world_size or 1) < 2:
            jobs.append([number])
        else:
            of_size[info.world_size or 1].append(number)
    for numbers in of_size.values():
        jobs += _by_folder(infos, numbers, 0)
    return sorted(jobs)


def _by_folder(infos: Sequence[OfJob], numbers: list[int], depth: int) -> list[list[int]]:
    """Part traces of one size of world that have so many folders in common into jobs."""
    if len({infos[number].rank for number in numbers}) == len(numbers):
        return [numbers]
    of_folder = defaultdict[str | None, list[int]](list)
    while len(of_folder) < 2:
        of_folder.clear()
        for number in numbers:
            folders = _SEPARATOR.split(infos[number].path)[:-1]
            of_folder[folders[depth] if depth < len(folders) else None].append(number)
        if [*of_folder] == [None]:
            break
        depth += 1
    parts = [[number] for number in of_folder.pop(None, ())]
    for each in of_folder.values():
        parts += _by_folder(infos, each, depth)
    jobs = list[tuple[list[int], set[int | None]]]()
    for part in sorted(parts):
        ranks = {infos[number].rank for number in part}
        job = next((each for each in jobs if each[1].isdisjoint(ranks)), None)
        if job is None:
            jobs.append((part, ranks))
        else:
            job[0].extend(part)
            job[1].update(ranks)
    return [sorted(job) for job, _ in jobs]
