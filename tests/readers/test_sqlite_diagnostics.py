"""What Nsight Systems says of its own recording."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.errors import TraceFormatError

from .sqlite_files import NsysFile

_INFO, _WARNING, _ERROR = 1, 2, 3
_NOT_STARTED = "CUDA profiling might have not been started correctly."
_NO_EVENTS = "No CUDA events collected. Does the process use CUDA?"
_NOT_ALL = "Not all NVTX events might have been collected."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.sqlite"


def _said(path: Path) -> list[str]:
    return [each for each in tidy.load(path).info.warnings if "Nsight Systems" in each]


def test_why_there_is_no_cuda(path: Path) -> None:
    with NsysFile(path) as file:
        file.range("frame", 10, 20)
        file.diagnostic(_INFO, "Process 7 was launched by the profiler, see [1234]")
        file.diagnostic(_WARNING, _NOT_STARTED, pid=12)  # a child that did nothing else
        file.diagnostic(_WARNING, _NO_EVENTS)
        file.diagnostic(_WARNING, _NOT_ALL)
    why, other = _said(path)
    assert why.startswith("no CUDA calls or device work in this profile; record with: nsys profile")
    assert why.endswith(f"Nsight Systems says: {_NOT_STARTED} {_NO_EVENTS}")
    assert other == f"Nsight Systems warned: {_NOT_ALL}"


def test_no_cuda_and_nothing_said_of_it(path: Path) -> None:
    with NsysFile(path) as file:
        file.range("frame", 10, 20)
    (why,) = (each for each in tidy.load(path).info.warnings if "no CUDA" in each)
    assert why.endswith("record with: nsys profile --trace=cuda,nvtx")


def test_processes_that_recorded_nothing_are_not_meant(path: Path) -> None:
    with NsysFile(path) as file:
        file.kernel("k", 10, 20, 1)
        for pid in (7, 8):
            file.range("frame", 10, 20, pid=pid)
            file.diagnostic(_WARNING, _NOT_ALL, pid=pid)
        for text in (_NOT_STARTED, _NO_EVENTS, _NOT_ALL):  # a shell that launched both
            file.diagnostic(_WARNING, text, pid=6)
        file.diagnostic(_ERROR, "The session was ended.", pid=None)
    assert _said(path) == [
        "Nsight Systems reported an error: The session was ended.",
        f"Nsight Systems warned: {_NOT_ALL} (of 2 processes)",
    ]


def test_a_profile_without_events_says_why(path: Path) -> None:
    with NsysFile(path) as file:
        file.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1)
        file.diagnostic(_WARNING, _NOT_STARTED)
    with pytest.raises(TraceFormatError, match="Nsight Systems warned: CUDA profiling might"):
        tidy.load(path)


def test_levels_are_those_that_the_file_names(path: Path) -> None:
    with NsysFile(path) as file:
        file.kernel("k", 10, 20, 1)
        for number, name in enumerate(("Verbose", "Info", None, "Warning", "Error")):
            file.row("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", id=number, name=name)
            file.diagnostic(number, f"level {number}")
    assert _said(path) == [
        "Nsight Systems reported an error: level 4",
        "Nsight Systems warned: level 3",
    ]


def test_many_and_long_ones(path: Path) -> None:
    with NsysFile(path) as file:
        file.kernel("k", 10, 20, 1)
        file.diagnostic(_WARNING, "\x1b[31mred\nline " + "long " * 1000)
        for number in range(20):
            file.diagnostic(_WARNING, f"number {number}")
    first, *_, last = said = _said(path)
    assert first.startswith("Nsight Systems warned: ?[31mred line long long")
    assert len(said) == 6
    assert max(map(len, said)) < 250
    assert last == "16 further warnings of Nsight Systems"


def test_columns_that_are_not_there(path: Path) -> None:
    with NsysFile(path) as file:
        file.schema = {**file.schema, "DIAGNOSTIC_EVENT": "severity INT, text"}
        file.kernel("k", 10, 20, 1)
        for text in (None, b"\xff\xfe", 5):
            file.row("DIAGNOSTIC_EVENT", severity=_WARNING, text=text)
    assert len(_said(path)) == 2
