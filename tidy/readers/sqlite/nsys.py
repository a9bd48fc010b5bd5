"""Nsight Systems: what `nsys export --type sqlite` writes.

Schema: the SQLite schema reference in NVIDIA's user guide of Nsight Systems, versions 2021.5 to
2025; tables are made only when there is something to put into them, and columns came and went.
Times are nanoseconds since the start of the session. A `globalTid` holds the process and the thread
in its lower 48 bits, 24 bits each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...trace.kinds import EventKind
from ...trace.raw_columns import Column
from .activities import named, process_of
from .cupti_names import NSYS_MEMORY_KINDS, strip_version, sync_name
from .database import Columns, Database
from .diagnostics import notes
from .profile_reader import ProfileReader, device_properties

_CUPTI = "CUPTI_ACTIVITY_KIND_"
_RUNTIME, _KERNEL, _MEMCPY, _MEMSET, _SYNC, _GRAPH = (
    _CUPTI + name
    for name in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE")
)
_NVTX, _OVERHEAD = "NVTX_EVENTS", "PROFILER_OVERHEAD"
_OF_SESSIONS = (
    "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT", "DIAGNOSTIC_EVENT",
)  # fmt: skip
_ON_DEVICE = (_KERNEL, _MEMCPY, _MEMSET, _GRAPH)
_READ = (_NVTX, _RUNTIME, _KERNEL, _MEMCPY, _MEMSET, _SYNC, _GRAPH, _OVERHEAD)
_PUSH_POP, _START_END = 59, 60
_NO_PROCESS = 0
_NAMELESS = "names of events that the file does not have"
_ONE_EACH = "to see the others, start each under its own nsys profile -o run.%p"
_NO_END = -(1 << 60)
_GPU = ("id", "name", "totalMemory", "computeMajor", "computeMinor", "smCount", "threadsPerWarp")


class NsysReader(ProfileReader):
    """Reads an SQLite export of Nsight Systems."""

    strings = ("StringIds", "id", "value")
    process = {"globalPid": 0}  # noqa: RUF012 - nobody writes to it
    how_to_record = (
        "record with: nsys profile --trace=cuda,nvtx, the steps to look at under "
        "torch.autograd.profiler.emit_nvtx(record_shapes=True)"
    )

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        labels = database.select("ENUM_CUDA_MEM_KIND", ("id", "label"))
        self.memory = dict(enumerate(NSYS_MEMORY_KINDS)) | {
            each["id"]: str(each["label"]) for each in labels if each["label"]
        }

    @staticmethod
    def accepts(database: Database) -> bool:
        """Whether there are tables that only Nsight Systems writes; no table is always there."""
        return (
            any(database.has(table, "globalTid") for table in (_NVTX, _RUNTIME, "OSRT_API"))
            or any(database.has(table, "globalPid") for table in (_KERNEL, _MEMCPY, _MEMSET))
            or not database.tables.keys().isdisjoint(_OF_SESSIONS)
        )

    def read_tables(self) -> None:
        self.database.expect(_READ)
        self._choose_process()
        self._read_calls(_RUNTIME, EventKind.Runtime)
        self._read_kernels()
        for columns in self.device_rows(_MEMCPY, copyKind=0, srcKind=7, dstKind=7, bytes=0):
            self.add_copies(columns)
        for columns in self.device_rows(_MEMSET, memKind=7, bytes=0):
            self.add_fills(columns, columns["memKind"])
        for columns in self.device_rows(_SYNC, syncType=0):
            self.activities.add_device_work(EventKind.Sync, columns, columns["syncType"], sync_name)
        # Graphs that were traced as a whole (--cuda-graph-trace=graph) instead of by kernel.
        for columns in self.device_rows(_GRAPH, graphId=0):
            self.activities.add_device_work(
                EventKind.Kernel, columns, columns["graphId"], "CUDA graph {}".format
            )
        self._has_cuda = self.activities.row_count > 0
        self._read_calls(_OVERHEAD, EventKind.Overhead)
        self._read_ranges()

    def _choose_process(self) -> None:
        """Leave out the processes that use devices but the one with most work.

        Their steps and idle time would be taken for one another's, as would their devices: each
        process numbers those that it sees.
        """
        work = Counter[int]()
        for table in _ON_DEVICE:
            counts = self.database.counts(table, "globalPid")
            pids = process_of(np.array(list(counts), np.int64)).tolist()
            for pid, count in zip(pids, counts.values(), strict=True):
                work[pid] += count
        del work[_NO_PROCESS]
        self._worker = min(work, key=lambda pid: (-work[pid], pid), default=_NO_PROCESS)
        self._others = sorted(work.keys() - {self._worker})

    def device_rows(self, *tables: str, **more: int) -> Iterator[Columns]:
        for columns in super().device_rows(*tables, **more):
            yield self._chosen(columns, process_of(columns["globalPid"]))

    def _chosen(self, columns: Columns, pids: Column) -> Columns:
        """The rows of processes that are not left out."""
        chosen = ~np.isin(pids, self._others)
        return {name: values[chosen] for name, values in columns.items()}

    def _names(self, ids: Column) -> dict[int, str]:
        """The strings with these numbers; those of events that have none are counted."""
        found = self.texts(ids)
        nameless = (ids >= 0) & ~np.isin(ids, list(found))
        self.activities.lost[_NAMELESS] += int(np.count_nonzero(nameless))
        return found

    def _read_calls(self, table: str, kind: EventKind) -> None:
        wanted = {"start": 0, "end": 0, "globalTid": 0, "correlationId": 0, "nameId": -1}
        for rows, _ in self.database.chunks(table, wanted):
            columns = self._chosen({**rows, **_thread(rows)}, process_of(rows["globalTid"]))
            strings = self._names(columns["nameId"])
            names = {number: strip_version(name) for number, name in strings.items()}
            self.activities.add_calls(columns, columns["nameId"], named(names, "CUDA call"), kind)

    def _read_ranges(self) -> None:
        wanted = {
            "start": 0, "end": _NO_END, "globalTid": 0, "textId": -1, "eventType": _PUSH_POP
        }  # fmt: skip
        for columns, raw in self.database.chunks(_NVTX, wanted, ["text"]):
            is_text = np.array([bool(text) for text in raw["text"]])
            strings = self._names(columns["textId"][~is_text])
            ids = columns["textId"].tolist()
            texts = [
                str(text) if text else strings.get(i, "")
                for text, i in zip(raw["text"], ids, strict=True)
            ]
            thread = _thread(columns)
            chosen = ~np.isin(thread["pid"], self._others)
            for kind in (_PUSH_POP, _START_END):
                rows = np.flatnonzero(chosen & (columns["eventType"] == kind))
                some = {name: columns[name][rows] for name in ("start", "end")}
                some["pid"], some["tid"] = thread["pid"][rows], thread["tid"][rows]
                if kind == _START_END:  # they need not nest, so they get a track of their own
                    some["tid"] = -some["tid"] - 1
                self.ranges.add(some, [texts[row] for row in rows.tolist()])

    def _read_kernels(self) -> None:
        for columns in self.device_rows(_KERNEL, demangledName=-1, shortName=-1):
            demangled, short = columns["demangledName"], columns["shortName"]
            ids = np.where(demangled >= 0, demangled, short)
            name_of = named(self._names(ids), "kernel")
            self.activities.add_device_work(EventKind.Kernel, columns, ids, name_of)

    def notes(self) -> Iterator[str]:
        if self._others:
            others = f"{len(self._others) + 1:,} processes use a GPU in this profile"
            yield f"{others}: only {self._worker}, with most work, is read; {_ONE_EACH}"
        yield from notes(self.database, self.activities.processes.keys(), self._has_cuda)

    def header(self) -> dict[str, Any]:
        """The devices, in the words of Kineto's `deviceProperties`."""
        gpus = {gpu["id"]: gpu for gpu in self.database.select("TARGET_INFO_GPU", _GPU)}
        seen = self.database.select("TARGET_INFO_CUDA_DEVICE", ("pid", "cudaId", "gpuId"))
        of_worker = [each for each in seen if each["pid"] == self._worker]
        by_index: dict[Any, set[Any]] = {}
        for each in of_worker or seen:
            by_index.setdefault(each["cudaId"], set()).add(each["gpuId"])
        # Processes that see different GPUs number them alike.
        gpu_of = {index: ids.pop() for index, ids in by_index.items() if len(ids) == 1}
        devices = [
            (index, gpus[gpu]["name"] or "", *(gpus[gpu][key] for key in _GPU[2:]))
            for index, gpu in (gpu_of if by_index else {gpu: gpu for gpu in gpus}).items()
            if gpu in gpus
        ]
        exported = self.database.select("META_DATA_EXPORT", ("name", "value"))
        versions = {each["name"]: each["value"] for each in exported}
        profiler = f"Nsight Systems {versions.get('EXPORT_PRODUCT_VERSION') or ''}".strip()
        return device_properties(devices) | {"profiler": profiler}


def _thread(columns: Columns) -> Columns:
    pid = process_of(columns["globalTid"])
    return {"pid": pid, "tid": columns["globalTid"] & 0xFFFFFF, "process": pid}
