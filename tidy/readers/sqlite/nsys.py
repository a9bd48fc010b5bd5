"""Nsight Systems: what `nsys export --type sqlite` writes.

Schema: the SQLite schema reference in NVIDIA's user guide of Nsight Systems, versions 2021.5 to
2025; tables are made only when there is something to put into them, and columns came and went.
Times are nanoseconds since the start of the session. A `globalTid` holds the process and the thread
in its lower 48 bits, 24 bits each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...trace import Trace
from ...trace.columns import Column
from ...trace.kinds import EventKind
from ..container import Progress
from .activities import Activities, NameOf, named
from .database import Columns, Database
from .names import (
    NSYS_MEMORY_KINDS,
    memcpy_name,
    memset_name,
    strip_version,
    sync_name,
)
from .ranges import Ranges
from .reading import finish, open_database, refuse

_CUPTI = "CUPTI_ACTIVITY_KIND_"
_RUNTIME, _KERNEL, _MEMCPY, _MEMSET, _SYNC, _GRAPH = (
    _CUPTI + name
    for name in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE")
)
_NVTX, _OVERHEAD = "NVTX_EVENTS", "PROFILER_OVERHEAD"
_READ = (_NVTX, _RUNTIME, _KERNEL, _MEMCPY, _MEMSET, _SYNC, _GRAPH, _OVERHEAD)
_PUSH_POP, _START_END = 59, 60
_NO_END = -(1 << 60)
_GPU = ("id", "name", "totalMemory", "computeMajor", "computeMinor", "smCount", "threadsPerWarp")
_HOW = (
    "record with: nsys profile --trace=cuda,nvtx, the steps to look at under "
    "torch.autograd.profiler.emit_nvtx(record_shapes=True)"
)


def is_nsys(database: Database) -> bool:
    """Whether a database has tables that only Nsight Systems writes, as none is always there."""
    return (
        any(database.has(table, "globalTid") for table in (_NVTX, _RUNTIME, "OSRT_API"))
        or any(database.has(table, "globalPid") for table in (_KERNEL, _MEMCPY, _MEMSET))
        or bool({"ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME"} & set(database.tables))
    )


def read_nsys(path: str, progress: Progress | None = None) -> Trace:
    """Read an SQLite export of Nsight Systems.

    Raises:
        TraceFormatError: it is none, or holds no events.
    """
    with open_database(path, progress) as database:
        if not is_nsys(database):
            raise refuse(database, "no export of Nsight Systems")
        return load_nsys(database)


def load_nsys(database: Database) -> Trace:
    """The trace in an open export."""
    return _Reader(database).read()


class _Reader:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._activities = Activities()
        self._ranges = Ranges(self._activities)
        labels = database.select("ENUM_CUDA_MEM_KIND", ("id", "label"))
        self._memory = dict(enumerate(NSYS_MEMORY_KINDS)) | {
            each["id"]: str(each["label"]) for each in labels if each["label"]
        }

    def read(self) -> Trace:
        database = self._database
        database.expect(_READ)
        self._read_calls(_RUNTIME, EventKind.Runtime)
        self._read_kernels()
        self._read_copies()
        self._read_fills()
        self._read_syncs()
        self._read_graphs()
        self._read_calls(_OVERHEAD, EventKind.Overhead)
        self._read_ranges()
        return finish(database, self._activities, self._ranges, self._header(), _HOW)

    # -- host -------------------------------------------------------------------------------------

    def _read_calls(self, table: str, kind: EventKind) -> None:
        wanted = {"start": 0, "end": 0, "globalTid": 0, "correlationId": 0, "nameId": -1}
        for columns, _ in self._database.chunks(table, wanted):
            strings = self._strings(columns["nameId"])
            names = {number: strip_version(name) for number, name in strings.items()}
            self._activities.add_calls(
                {**columns, **_thread(columns), "correlation": columns["correlationId"]},
                self._activities.names(columns["nameId"], named(names, "CUDA call")),
                kind,
            )

    def _read_ranges(self) -> None:
        wanted = {
            "start": 0, "end": _NO_END, "globalTid": 0, "textId": -1, "eventType": _PUSH_POP
        }  # fmt: skip
        for columns, raw in self._database.chunks(_NVTX, wanted, ["text"]):
            strings = self._strings(columns["textId"])
            ids = columns["textId"].tolist()
            texts = [
                strings.get(i, "") if text is None else str(text)
                for text, i in zip(raw["text"], ids, strict=True)
            ]
            thread = _thread(columns)
            for kind in (_PUSH_POP, _START_END):
                rows = np.flatnonzero(columns["eventType"] == kind)
                some = {name: columns[name][rows] for name in ("start", "end")}
                some["pid"], some["tid"] = thread["pid"][rows], thread["tid"][rows]
                if kind == _START_END:  # they need not nest, so they get a track of their own
                    some["tid"] = -some["tid"] - 1
                self._ranges.add(some, [texts[row] for row in rows.tolist()])

    def _strings(self, ids: Column) -> dict[int, str]:
        wanted = np.unique(ids[ids >= 0]).tolist()
        return self._database.texts("StringIds", "id", "value", wanted)

    # -- devices ----------------------------------------------------------------------------------

    def _read_kernels(self) -> None:
        more = {"demangledName": -1, "shortName": -1}
        for columns in self._device_chunks(_KERNEL, more):
            demangled, short = columns["demangledName"], columns["shortName"]
            ids = np.where(demangled >= 0, demangled, short)
            self._add(EventKind.Kernel, columns, ids, named(self._strings(ids), "kernel"))

    def _read_copies(self) -> None:
        more = {"copyKind": 0, "srcKind": 7, "dstKind": 7, "bytes": 0}
        for columns in self._device_chunks(_MEMCPY, more):
            kinds = (np.clip(columns[name], 0, 255) for name in ("copyKind", "srcKind", "dstKind"))
            copy, source, target = kinds
            numbers = (copy << 16) + (source << 8) + target
            self._add(EventKind.Memcpy, columns, numbers, self._memcpy)

    def _read_fills(self) -> None:
        for columns in self._device_chunks(_MEMSET, {"memKind": 7, "bytes": 0}):
            self._add(
                EventKind.Memset,
                columns,
                columns["memKind"],
                lambda kind: memset_name(self._memory.get(kind, "Unknown")),
            )

    def _memcpy(self, number: int) -> str:
        source, target = (number >> 8) & 255, number & 255
        memory = self._memory
        return memcpy_name(
            number >> 16, memory.get(source, "Unknown"), memory.get(target, "Unknown")
        )

    def _read_syncs(self) -> None:
        for columns in self._device_chunks(_SYNC, {"syncType": 0}):
            self._add(EventKind.Sync, columns, columns["syncType"], sync_name)

    def _read_graphs(self) -> None:
        """Graphs that were traced as a whole (--cuda-graph-trace=graph) instead of by kernel."""
        for columns in self._device_chunks(_GRAPH, {"graphId": 0}):
            self._add(EventKind.Kernel, columns, columns["graphId"], lambda i: f"CUDA graph {i}")

    def _device_chunks(self, table: str, more: dict[str, int]) -> Iterable[Columns]:
        wanted = {
            "start": 0, "end": 0, "globalPid": 0, "deviceId": 0, "streamId": -1,
            "correlationId": 0, **more,
        }  # fmt: skip
        for columns, _ in self._database.chunks(table, wanted):
            yield columns

    def _add(self, kind: EventKind, columns: Columns, numbers: Column, name_of: NameOf) -> None:
        self._activities.add_device_work(
            kind,
            {
                "start": columns["start"],
                "end": columns["end"],
                "process": (columns["globalPid"] >> 24) & 0xFFFFFF,
                "device": columns["deviceId"],
                "stream": columns["streamId"],
                "correlation": columns["correlationId"],
                "nbytes": columns.get("bytes", np.zeros_like(columns["start"])),
            },
            self._activities.names(numbers, name_of),
        )

    def _header(self) -> dict[str, Any]:
        """The devices, in the words of Kineto's `deviceProperties`."""
        gpus = {gpu["id"]: gpu for gpu in self._database.select("TARGET_INFO_GPU", _GPU)}
        seen = self._database.select("TARGET_INFO_CUDA_DEVICE", ("cudaId", "gpuId"))
        by_index: dict[Any, set[Any]] = {}
        for each in seen:
            by_index.setdefault(each["cudaId"], set()).add(each["gpuId"])
        # Processes that see different GPUs number them alike: then no number stands for one GPU.
        named = {index: ids.pop() for index, ids in by_index.items() if len(ids) == 1}
        entries = [
            {
                "id": index,
                "name": gpus[gpu]["name"] or "",
                "totalGlobalMem": gpus[gpu]["totalMemory"],
                "computeMajor": gpus[gpu]["computeMajor"],
                "computeMinor": gpus[gpu]["computeMinor"],
                "numSms": gpus[gpu]["smCount"],
                "warpSize": gpus[gpu]["threadsPerWarp"],
            }
            for index, gpu in (named if by_index else {gpu: gpu for gpu in gpus}).items()
            if gpu in gpus
        ]
        exported = self._database.select("META_DATA_EXPORT", ("name", "value"))
        versions = {each["name"]: each["value"] for each in exported}
        header: dict[str, Any] = {"deviceProperties": entries} if entries else {}
        version = versions.get("EXPORT_PRODUCT_VERSION")
        return header | {"profiler": f"Nsight Systems {version or ''}".strip()}


def _thread(columns: Columns) -> Columns:
    pid = (columns["globalTid"] >> 24) & 0xFFFFFF
    return {"pid": pid, "tid": columns["globalTid"] & 0xFFFFFF, "process": pid}
