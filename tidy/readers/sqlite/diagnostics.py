"""What Nsight Systems says of its own recording: warnings and errors among its diagnostics.

In a profile of several processes those that recorded nothing, such as a launcher or a shell, have
warnings of their own. They say nothing of what was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from ...trace import count_text, printable
from .activities import process_of
from .database import Database

_LEVELS = {2: "Warning", 3: "Error"}  # where the file does not name them
_ERRORS_FIRST = {"Error": "reported an error", "Warning": "warned"}
_MOST, _LONGEST = 5, 200
_OF_CUDA = re.compile("CUDA|CUPTI|driver", re.IGNORECASE)
_NO_CUDA = "no CUDA calls or device work in this profile"

Said = dict[tuple[str, str], set[int]]  # the processes of each (level, text)


def notes(database: Database, processes: Set[int], has_cuda: bool) -> Iterator[str]:
    """Yield sentences about the recording: why it has no CUDA, and what else went wrong.

    Args:
        processes: those that recorded something; where none did, what is said of all counts.
        has_cuda: whether there are CUDA calls or device work.
    """
    said = _worth_saying(database)
    if processes and not has_cuda:
        why = [text for _, text in said if _OF_CUDA.search(text)]
        said = {key: of for key, of in said.items() if key[1] not in why}
        because = "; Nsight Systems says: " + " ".join(why[:_MOST]) if why else ""
        yield f"{_NO_CUDA}; record with: nsys profile --trace=cuda,nvtx{because}"
    if processes - {0}:
        said = {key: own for key, of in said.items() if (own := of & {0, *processes})}
    for (level, text), of in list(said.items())[:_MOST]:
        many = f" (of {len(of):,} processes)" if len(of) > 1 else ""
        yield f"Nsight Systems {_ERRORS_FIRST[level]}: {text}{many}"
    if len(said) > _MOST:
        yield f"{count_text(len(said) - _MOST, 'further warning')} of Nsight Systems"


def _worth_saying(database: Database) -> Said:
    """Errors and warnings, each with its processes; 0 stands for the whole session."""
    names = database.select("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", ("id", "name"))
    levels = _LEVELS | {each["id"]: each["name"] for each in names}
    said: Said = {}
    wanted = {"severity": 0, "globalPid": 0}
    for columns, raw in database.chunks("DIAGNOSTIC_EVENT", wanted, ["text"]):
        pids = process_of(columns["globalPid"]).tolist()
        for number, pid, text in zip(columns["severity"].tolist(), pids, raw["text"], strict=True):
            level = levels.get(number)
            if level in _ERRORS_FIRST and text:
                said.setdefault((level, _one_line(str(text))), set()).add(pid)
    return dict(sorted(said.items(), key=lambda each: list(_ERRORS_FIRST).index(each[0][0])))


def _one_line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
