"""SQLite profiles for the fuzzer, and kinds of damage to what their tables hold."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

if __package__:
    from .sqlite_files import NsysFile, NvprofFile
else:
    from sqlite_files import NsysFile, NvprofFile

_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_ODD_VALUES: tuple[Any, ...] = (
    None, 0, -1, 1, 7, 2**31, 2**62, -(2**63), 2**63 - 1, 1.5, 1e300, float("inf"), "", "x",
    "12", "aten::mm, seq = 3, sizes = [[2, 3], [[[[", "ProfilerStep#99999999999999999999",
    "\x1b[31m", "a" * 5000, b"", b"\xff\xfe\x00", b"aten::\xff\xc3\x28",
)  # fmt: skip
# Text that is no UTF-8, as tools write it that copy bytes of a terminal.
_BAD_TEXTS = ("ff", "c328", "6174656e3a3affc3", "eda080", "00", "e28080ff")
_KINDS = ("cell", "column", "text", "drop", "rename", "repeat")
_HOW_OFTEN = (6, 2, 3, 1, 1, 1)


def sqlite_sources() -> dict[str, bytes]:
    """Small profiles by name: three steps of a training that waits for its loader."""
    with tempfile.TemporaryDirectory() as folder:
        nsys, nvprof = Path(folder, "profile.sqlite"), Path(folder, "profile.nvvp")
        with NsysFile(nsys) as file:
            file.gpu(0, "NVIDIA A100", 8, 0)
            file.diagnostic(2, "Not all CUDA events might have been collected.")
            file.row("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", id=2, name="Warning")
            file.row("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=7)
            file.row("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2024.6")
            _training(file)
        with NvprofFile(nvprof) as file:
            _training(file)
        return {path.name: path.read_bytes() for path in (nsys, nvprof)}


def _training(file: Any) -> None:
    for step in range(3):
        at, link = step * 1_000_000, 10 * step
        file.range(f"{_LOADER}, op_id = 1", at, at + 400_000)
        file.range("aten::mm, seq = 3, sizes = [[64, 64], [64, 64]]", at + 410_000, at + 450_000)
        file.call("cudaLaunchKernel_v7000", at + 412_000, at + 420_000, link + 1)
        file.kernel("void gemm<float>(int)", at + 430_000, at + 700_000, link + 1)
        file.range("MmBackward0, seq = 3", at + 710_000, at + 790_000, tid=8)
        file.call("cudaMemcpyAsync_v3020", at + 800_000, at + 830_000, link + 2)
        kinds = {"copyKind": 1, "srcKind": 0, "dstKind": 2, "bytes": 1024}
        file.work("MEMCPY", at + 805_000, at + 823_000, link + 2, **kinds)
        file.range("Optimizer.step#SGD.step, op_id = 9", at + 900_000, at + 990_000)


def damage_tables(rng: Random, content: bytes) -> bytes:
    """The database with some cells, columns or tables changed; of what fails nothing is done."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.sqlite")
        path.write_bytes(content)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = OFF")
            query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            names = [name for (name,) in connection.execute(query)]
            tables = [name for name in names if not name.startswith("sqlite_")]
            for _ in range(rng.choice((1, 2, 3, 8))):
                with suppress(sqlite3.Error):
                    _damage(rng, connection, rng.choice(tables))
        return path.read_bytes()


def _damage(rng: Random, connection: sqlite3.Connection, table: str) -> None:
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
    if not columns:  # it was dropped
        return
    column, value = rng.choice(columns), rng.choice(_ODD_VALUES)
    (kind,) = rng.choices(_KINDS, _HOW_OFTEN)
    if kind == "cell":
        last = connection.execute(f'SELECT max(rowid) FROM "{table}"').fetchone()[0] or 1  # noqa: S608
        where = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'  # noqa: S608
        connection.execute(where, (value, rng.randint(1, last)))
    elif kind == "column":
        connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))  # noqa: S608
    elif kind == "text":
        bad = f"CAST(x'{rng.choice(_BAD_TEXTS)}' AS TEXT)"
        connection.execute(f'UPDATE "{table}" SET "{column}" = {bad} WHERE rowid % 2 = 1')  # noqa: S608
    elif kind == "drop":
        connection.execute(f'DROP TABLE "{table}"')
    elif kind == "rename":
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other')
    else:
        names = ", ".join(f'"{name}"' for name in columns[1:])
        connection.execute(f'INSERT INTO "{table}" ({names}) SELECT {names} FROM "{table}"')  # noqa: S608
