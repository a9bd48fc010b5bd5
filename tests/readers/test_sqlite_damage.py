"""Databases that are damaged, locked, encrypted or of something else: one line each."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import tidy
from tidy.errors import TraceFormatError, UnreadableFile
from tidy.trace import Trace

from .sqlite_files import NsysFile, NvprofFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.sqlite"


def _write(path: Path, count: int = 3000) -> None:
    with NsysFile(path) as file:
        for number in range(count):
            file.range(f"aten::mul, seq = {number}", 10 * number, 10 * number + 9)
            file.kernel("k", 10 * number, 10 * number + 5, number + 1)


def _load(path: Path) -> tuple[Trace | None, str]:
    """The trace, or the problem with it."""
    try:
        trace = tidy.load(path)
    except TraceFormatError as error:
        return None, str(error)
    trace.self_check()
    return trace, ""


def _refusal(path: Path) -> str:
    with pytest.raises(TraceFormatError) as caught:
        tidy.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return caught.value.problem


def test_what_is_cut_off_is_read_as_far_as_it_goes(path: Path) -> None:
    _write(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    trace, problem = _load(path)
    said = [problem] if trace is None else trace.info.warnings
    assert any("is damaged" in each or "an SQLite database that is" in each for each in said)
    assert trace is None or 0 < len(trace) < 6000


def test_a_page_of_noise(path: Path) -> None:
    _write(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    trace = tidy.load(path)
    trace.self_check()
    assert any("is damaged after" in warning for warning in trace.info.warnings)
    assert 0 < len(trace) < 6000


def test_only_a_head(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xa5" * 2000)
    assert "damaged, cut off or encrypted" in _refusal(path)
    path.write_bytes(b"SQLite format 3\0")
    assert "damaged, cut off or encrypted" in _refusal(path)


@pytest.mark.parametrize("position", range(0, 40_000, 1999))
def test_any_byte_may_be_wrong(path: Path, position: int) -> None:
    """It is read, with or without warnings, or refused: nothing else."""
    _write(path, 200)
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 0xFF
    path.write_bytes(content)
    _, problem = _load(path)
    assert "\n" not in problem


def test_locked(path: Path) -> None:
    _write(path, 5)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(UnreadableFile, match="locked by another program"):
            tidy.load(path)
    finally:
        holder.close()
    assert len(tidy.load(path)) == 10


def test_a_journal_that_a_crash_left_behind(path: Path) -> None:
    """In a folder that may not be written, as far as the system keeps to that."""
    program = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN')\n"
        "c.execute('UPDATE NVTX_EVENTS SET start = start + 1')\n"
        "os._exit(0)\n"
    )
    _write(path)
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    before = path.read_bytes()
    trace = tidy.load(path)
    assert len(trace) == 6000
    assert any("journal" in w for w in trace.info.warnings) or path.read_bytes() != before


def test_other_databases(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE users (id INTEGER, name TEXT)")
    connection.close()
    problem = _refusal(path)
    assert problem.startswith("this is an SQLite database, but no profile of Nsight Systems")
    assert "users" in problem


def test_a_profile_without_events(path: Path) -> None:
    with NsysFile(path) as file:
        file.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1)
        file.string("nothing")
    assert "nsys profile --trace=cuda,nvtx" in _refusal(path)
    bare = path.with_name("bare.sqlite")
    with NsysFile(bare) as file:
        file.row("META_DATA_EXPORT", name="EXPORT_PRODUCT_NAME", value="NVIDIA Nsight Systems")
    assert "holds no NVTX ranges, CUDA calls or device work" in _refusal(bare)
    other = path.with_name("empty.nvvp")
    with NvprofFile(other) as file:
        file.string("nothing")
        file.row("CUPTI_ACTIVITY_KIND_CONTEXT", contextId=1)
    assert "nvprof -o" in _refusal(other)


@pytest.mark.parametrize("suffix", [".nsys-rep", ".qdrep", ".QDREP"])
def test_reports_that_only_nsight_reads(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report{suffix}"
    path.write_bytes(b"\x00\x01QDREP\xff" * 100)
    assert _refusal(path).endswith(f"run: nsys export --type sqlite {path}")


def test_packed(path: Path, tmp_path: Path) -> None:
    _write(path, 5)
    packed = tmp_path / "report.sqlite.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert _refusal(packed) == "this is an SQLite database in gzip; unpack it first"


@pytest.mark.parametrize("name", ["a.sqlite", "a.nvvp", "a.nvprof"])
def test_encrypted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(range(128, 256)) * 64)
    assert "encrypted" in _refusal(tmp_path / name)


@pytest.mark.parametrize("name", ["what#is?this %20.sqlite", "ä ö.sqlite", "no suffix"])
def test_names_of_files(tmp_path: Path, name: str) -> None:
    _write(tmp_path / "plain", 2)
    try:
        (tmp_path / "plain").rename(tmp_path / name)
    except OSError:
        pytest.skip("no such name on this system")
    assert len(tidy.load(tmp_path / name)) == 4


def test_json_whatever_the_name_says(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    event = (
        '{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    )
    path.write_text(f"[{event}]")
    assert tidy.load(path).names == ["aten::mul"]
