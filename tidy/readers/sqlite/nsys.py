"""Nsight Systems: what `nsys export --type sqlite` writes.

Schema: the SQLite schema reference in NVIDIA's user guide of Nsight Systems, versions 2021.5 to
2025; tables are made only when there is something to put into them, and columns came and went.
Times are nanoseconds since the start of the session. A `globalTid` holds the process and the thread
in its lower 48 bits, 24 bits each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...trace import Capability
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
_NAMELESS = "names that the table of strings lacks (the event is called by its kind)"
# Ranges that a process has which trains, and none that only loads data.
_OF_TRAINING = ("ProfilerStep#*", "Optimizer.step#*", "autograd::engine::evaluate_function*")
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
    options = {  # noqa: RUF012 - nobody writes to it
        Capability.DEVICE: "nsys profile --trace=cuda,nvtx",
        Capability.OPS: "nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx",
        Capability.STEPS: "an NVTX range ProfilerStep#N around each step",
    }

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        labels = database.select("ENUM_CUDA_MEM_KIND", ("id", "label"))
        self.memory = dict(enumerate(NSYS_MEMORY_KINDS)) | {
            each["id"]: str(each["label"]) for each in labels if each["label"]
        }

    @staticmethod
    def accepts(database: Database) -> bool:
        """Tell whether there are tables that only Nsight Systems writes; no table is always
        there.
        """
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
        """Leave out the processes that use devices or train, but the one with most time.

        Their steps and idle time would be taken for one another's, as would their devices: each
        process numbers those that it sees. Time on devices counts first, then that of the host.
        """
        self._device_ns = self._durations(_ON_DEVICE, "globalPid")
        training = self._durations([_NVTX], "globalTid", self._are_named(_OF_TRAINING))
        host = self._durations([_NVTX, _RUNTIME], "globalTid") if len(training) > 1 else training
        found = self._device_ns.keys() | training.keys()
        self._worker = min(
            found, key=lambda pid: (-self._device_ns[pid], -host[pid], pid), default=_NO_PROCESS
        )
        self._others = sorted(found - {self._worker})

    def _durations(self, tables: Iterable[str], column: str, condition: str = "1") -> Counter[int]:
        """Return the nanoseconds that the rows of these tables take, by process."""
        found = Counter[int]()
        for table in tables:
            by_id = self.database.durations(table, column, condition)
            pids = process_of(np.array(list(by_id), np.int64)).tolist()
            for pid, duration_ns in zip(pids, by_id.values(), strict=True):
                found[pid] += round(duration_ns)
        del found[_NO_PROCESS]
        return found

    def _are_named(self, patterns: Iterable[str]) -> str:
        """Return SQL that is true for the ranges with a text like one of `patterns`."""
        columns = [name for name in ("text", "textId") if self.database.has(_NVTX, name)]
        table, key, value = self.strings
        conditions = ["0"]
        for pattern in patterns:
            if "text" in columns:
                conditions.append(f"text GLOB '{pattern}'")
            if "textId" in columns and self.database.has(table, key, value):
                like = f"SELECT {key} FROM {table} WHERE {value} GLOB '{pattern}'"  # noqa: S608
                conditions.append(f"textId IN ({like})")
        return " OR ".join(conditions)

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
            thread = _thread(columns)
            chosen = ~np.isin(thread["pid"], self._others)
            chosen &= np.isin(columns["eventType"], (_PUSH_POP, _START_END))
            is_text = np.array([bool(text) for text in raw["text"]])
            strings = self._names(columns["textId"][chosen & ~is_text])
            ids = columns["textId"].tolist()
            texts = [
                str(text) if text else strings.get(i, "")
                for text, i in zip(raw["text"], ids, strict=True)
            ]
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
            count, on_device = len(self._others) + 1, len(self._device_ns)
            what = ["use a GPU"] if on_device else []
            what += ["train"] if on_device < count else []
            of = f"{count:,} processes {' or '.join(what)} in this profile"
            most = f"with most time on {'devices' if on_device else 'the host'}"
            yield f"{of}: only {self._worker}, {most}, is read; {_ONE_EACH}"
        yield from notes(self.database, self.activities.processes.keys(), self._has_cuda)

    def header(self) -> dict[str, Any]:
        """Return the devices, in the words of Kineto's `deviceProperties`."""
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
