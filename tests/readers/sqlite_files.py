"""SQLite profiles as the tools write them.

Schemas: for Nsight Systems what `.schema` shows of an export by 2024.6 (schema version 3.16), with
the columns that tidy does not look at, too; for nvprof the tables of CUDA 10 (published with the
converter nvprof2json), of which those are here that tidy reads.
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path
from types import TracebackType
from typing import Any

_TIMED = "start INTEGER NOT NULL, end INTEGER NOT NULL"
_PLACED = (
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
    "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER"
)
NSYS = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_GPU": (
        "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
        "isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, "
        "clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, "
        "chipName TEXT, cuDevice INTEGER, threadsPerWarp INTEGER, computeMajor INTEGER, "
        "computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER"
    ),
    "TARGET_INFO_CUDA_DEVICE": (
        "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, "
        "numMultiprocessors INTEGER"
    ),
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "NVTX_EVENTS": (
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
        "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, "
        "textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, "
        "doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, "
        "jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        f"{_TIMED}, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, "
        "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"{_TIMED}, {_PLACED}, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
        "mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, "
        "registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
        "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "
        "blockZ INTEGER NOT NULL, graphNodeId INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        f"{_TIMED}, {_PLACED}, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, "
        "deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, "
        "srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, "
        "graphNodeId INTEGER, virtualAddress INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        f"{_TIMED}, {_PLACED}, value INTEGER NOT NULL, bytes INTEGER NOT NULL, "
        "graphNodeId INTEGER, memKind INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        f"{_TIMED}, {_PLACED}, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
        f"{_TIMED}, {_PLACED}, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL"
    ),
    "PROFILER_OVERHEAD": f"{_TIMED}, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
    "DIAGNOSTIC_EVENT": (
        "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, "
        "severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER"
    ),
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
}

_KEY = "_id_ INTEGER PRIMARY KEY AUTOINCREMENT"
_AT = "start INT NOT NULL, end INT NOT NULL"
_KERNEL = (
    f"{_KEY}, cacheConfig BLOB NOT NULL, sharedMemoryConfig INT NOT NULL, "
    f"registersPerThread INT NOT NULL, {_AT}, completed INT NOT NULL, deviceId INT NOT NULL, "
    "contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, "
    "gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, "
    "staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, "
    "correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL"
)
_CALL = (
    f"{_KEY}, cbid INT NOT NULL, {_AT}, processId INT NOT NULL, threadId INT NOT NULL, "
    "correlationId INT NOT NULL, returnValue INT NOT NULL"
)
NVPROF = {
    "StringTable": f"{_KEY}, value TEXT NOT NULL UNIQUE",
    "Version": "version INTEGER",
    "CUPTI_ACTIVITY_KIND_MARKER": (
        f"{_KEY}, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, "
        "objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": _CALL,
    "CUPTI_ACTIVITY_KIND_DRIVER": _CALL,
    "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL,
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        f"{_KEY}, copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, "
        f"flags INT NOT NULL, bytes INT NOT NULL, {_AT}, deviceId INT NOT NULL, "
        "contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, "
        "runtimeCorrelationId INT NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        f"{_KEY}, value INT NOT NULL, bytes INT NOT NULL, {_AT}, deviceId INT NOT NULL, "
        "contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, "
        "flags INT NOT NULL, memoryKind INT NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        f"{_KEY}, type INT NOT NULL, {_AT}, correlationId INT NOT NULL, contextId INT NOT NULL, "
        "streamId INT NOT NULL, cudaEventId INT NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_CONTEXT": (
        f"{_KEY}, contextId INT NOT NULL, deviceId INT NOT NULL, computeApiKind INT NOT NULL, "
        "nullStreamId INT NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_DEVICE": (
        f"{_KEY}, flags INT NOT NULL, globalMemorySize INT NOT NULL, "
        "numThreadsPerWarp INT NOT NULL, numMultiprocessors INT NOT NULL, "
        "computeCapabilityMajor INT NOT NULL, computeCapabilityMinor INT NOT NULL, "
        "id INT NOT NULL, eccEnabled INT NOT NULL, uuid BLOB NOT NULL, name INT NOT NULL"
    ),
}


class SqliteFile:
    """Writes one database; a table is made when its first row comes, as both tools do.

    Columns that a row leaves out are NULL, or 0 where the schema wants a value.
    """

    schema: dict[str, str]
    strings: tuple[str, str, str]  # table of strings, its key, its value

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path)
        self._ids: dict[str, int] = {}
        self._made: set[str] = set()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.connection.commit()
        self.connection.close()

    def row(self, table: str, **values: Any) -> None:
        if table not in self._made:
            self.connection.execute(f"CREATE TABLE {table} ({self.schema[table]})")
            self._made.add(table)
        info = self.connection.execute(f"PRAGMA table_info({table})").fetchall()
        required = {name: 0 for _, name, _, not_null, _, key in info if not_null and not key}
        given = {**required, **values}
        names = ", ".join(f'"{name}"' for name in given)
        marks = ", ".join("?" * len(given))
        self.connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608
            list(given.values()),
        )

    def string(self, text: str) -> int:
        if text not in self._ids:
            table, key, value = self.strings
            self._ids[text] = len(self._ids) + 1
            self.row(table, **{key: self._ids[text], value: text})
        return self._ids[text]


class NsysFile(SqliteFile):
    """An export of Nsight Systems."""

    schema = NSYS
    strings = ("StringIds", "id", "value")

    def range(
        self,
        text: str | None,
        start: int,
        end: int | None,
        *,
        pid: int = 7,
        tid: int = 7,
        **more: Any,
    ) -> None:
        """A range, its text in the row; `textId=...` for a registered string."""
        values = {"start": start, "end": end, "eventType": 59, "text": text, "domainId": 0}
        self.row("NVTX_EVENTS", **{**values, "globalTid": global_id(pid, tid), **more})

    def call(
        self, name: str, start: int, end: int, correlation: int, *, pid: int = 7, tid: int = 7
    ) -> None:
        self.row(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            globalTid=global_id(pid, tid),
            correlationId=correlation,
            nameId=self.string(name),
        )

    def work(self, kind: str, start: int, end: int, correlation: int, **values: Any) -> None:
        """A row of CUPTI_ACTIVITY_KIND_...; `pid` is its process."""
        pid = values.pop("pid", 7)
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": global_id(pid, 0)}
        self.row(
            f"CUPTI_ACTIVITY_KIND_{kind}",
            start=start,
            end=end,
            correlationId=correlation,
            **{**place, **values},
        )

    def kernel(self, name: str, start: int, end: int, correlation: int, **values: Any) -> None:
        short = name.partition("<")[0].removeprefix("void ").rpartition("::")[2]
        ids = {"demangledName": self.string(name), "shortName": self.string(short)}
        self.work("KERNEL", start, end, correlation, **ids, **values)

    def diagnostic(self, severity: int, text: str | None, pid: int | None = 7) -> None:
        """What the profiler says of a process, or of its session."""
        of = -1 << 57 if pid is None else global_id(pid, 0)
        self.row("DIAGNOSTIC_EVENT", severity=severity, text=text, globalPid=of)

    def gpu(self, index: int, name: str, major: int, minor: int, nbytes: int = 80 << 30) -> None:
        self.row(
            "TARGET_INFO_GPU",
            id=index,
            name=name,
            totalMemory=nbytes,
            smCount=108,
            threadsPerWarp=32,
            computeMajor=major,
            computeMinor=minor,
        )


class NvprofFile(SqliteFile):
    """A file of nvprof."""

    schema = NVPROF
    strings = ("StringTable", "_id_", "value")
    marker_count = 0

    def range(self, text: str, start: int, end: int | None, *, pid: int = 7, tid: int = 9) -> int:
        """Two markers with one id, of which the first has the name; gives the id."""
        self.marker_count += 1
        self.marker(2, start, self.marker_count, self.string(text), pid=pid, tid=tid)
        if end is not None:
            self.marker(4, end, self.marker_count, 0, pid=pid, tid=tid)
        return self.marker_count

    def marker(
        self, flags: int, at: int, marker: int, name: int, *, pid: int = 7, tid: int = 9
    ) -> None:
        self.row(
            "CUPTI_ACTIVITY_KIND_MARKER",
            flags=flags,
            timestamp=at,
            id=marker,
            objectKind=2,
            objectId=struct.pack("<iq", pid, tid & 0xFFFFFFFF),
            name=name,
            domain=self.string("<unnamed>"),
        )

    def call(
        self, cbid: int, start: int, end: int, correlation: int, *, tid: int = 9, table: str = ""
    ) -> None:
        self.row(
            f"CUPTI_ACTIVITY_KIND_{table or 'RUNTIME'}",
            cbid=cbid,
            start=start,
            end=end,
            processId=7,
            threadId=tid,
            correlationId=correlation,
        )

    def work(self, kind: str, start: int, end: int, correlation: int, **values: Any) -> None:
        place = {"contextId": 1, "streamId": 7}
        if kind != "SYNCHRONIZATION":
            place["deviceId"] = 0
        self.row(
            f"CUPTI_ACTIVITY_KIND_{kind}",
            start=start,
            end=end,
            correlationId=correlation,
            **{**place, **values},
        )

    def kernel(self, name: str, start: int, end: int, correlation: int, **values: Any) -> None:
        table = values.pop("table", "CONCURRENT_KERNEL")
        self.work(table, start, end, correlation, name=self.string(name), **values)


def global_id(pid: int, tid: int) -> int:
    """Nsight Systems' serialized id: host and virtual machine above, process, thread."""
    return (1 << 48) + (pid << 24) + tid
