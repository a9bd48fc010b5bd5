"""nvprof: the CUPTI activity tables of `nvprof -o profile.nvvp`.

Schema: what nvprof of CUDA 8 to 11 writes (Version 9 to 11 of the file). Joined as
`torch.autograd.profiler.parse_nvprof_trace` joins them: a range is a marker with a name and the
one without that has its id, a kernel belongs to the call that has its correlation. Where that
function raises an error for a key it meets twice, duplicates are left out here and counted.
Times are nanoseconds since 1970.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trace import Capability
from ...trace.kinds import EventKind
from ...trace.raw_columns import Column
from .activities import Integers, named
from .cupti_names import DRIVER_CALLS, MEMORY_KINDS, RUNTIME_CALLS, sync_name
from .database import Columns, Database
from .profile_reader import ProfileReader, device_properties

_CUPTI = "CUPTI_ACTIVITY_KIND_"
_MARKER, _RUNTIME, _DRIVER, _SYNC, _DEVICE, _CONTEXT = (
    _CUPTI + n for n in ("MARKER", "RUNTIME", "DRIVER", "SYNCHRONIZATION", "DEVICE", "CONTEXT")
)
_KERNELS = (f"{_CUPTI}CONCURRENT_KERNEL", f"{_CUPTI}KERNEL")
_COPIES = (f"{_CUPTI}MEMCPY", f"{_CUPTI}MEMCPY2")
_FILLS = (f"{_CUPTI}MEMSET",)
_INSTANT, _START, _END = 1, 2, 4
_OF_A_THREAD = 2
_MANGLED = "_Z"  # how names begin that a C++ compiler mangled
_DEMANGLING_SECONDS = 20
_OF_MEMORY = ("correlationId", "start", "bytes", "streamId")
_DEVICE_COLUMNS = (
    "id", "name", "globalMemorySize", "computeCapabilityMajor", "computeCapabilityMinor",
    "numMultiprocessors", "numThreadsPerWarp",
)  # fmt: skip


class NvprofReader(ProfileReader):
    """Reads an SQLite file of nvprof."""

    strings = ("StringTable", "_id_", "value")
    how_to_record = (
        "record with: nvprof -o profile.nvvp -- python train.py, the steps to look at under "
        "torch.autograd.profiler.emit_nvtx(record_shapes=True)"
    )
    options = {  # noqa: RUF012 - nobody writes to it
        Capability.DEVICE: "nvprof -o profile.nvvp",
        Capability.OPS: "nvprof, the steps under torch.autograd.profiler.emit_nvtx()",
        Capability.STEPS: "an NVTX range ProfilerStep#N around each step",
    }

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.memory = dict(enumerate(MEMORY_KINDS))
        self._seen: dict[str, NDArray[np.uint64]] = {}
        self._kernels: dict[int, str] = {}

    @staticmethod
    def accepts(database: Database) -> bool:
        """Tell whether there are the tables that nvprof writes."""
        return database.has("StringTable", "_id_", "value") and any(
            table.startswith(_CUPTI) for table in database.tables
        )

    def read_tables(self) -> None:
        expected = (_MARKER, _RUNTIME, _DRIVER, _SYNC, *_KERNELS, *_COPIES, *_FILLS)
        self.database.expect(expected)
        self._read_calls(_RUNTIME, RUNTIME_CALLS, "CUDA runtime call")
        self._read_calls(_DRIVER, DRIVER_CALLS, "CUDA driver call")
        self._read_kernels()
        for columns in self.device_rows(*_COPIES, copyKind=0, srcKind=0, dstKind=0, bytes=0):
            self.add_copies(self._once("copies", columns, _OF_MEMORY))
        for columns in self.device_rows(*_FILLS, memoryKind=0, bytes=0):
            kept = self._once("fills", columns, _OF_MEMORY)
            self.add_fills(kept, kept["memoryKind"])
        self._read_syncs()
        self._read_markers()

    def _read_calls(self, table: str, names: dict[int, str], otherwise: str) -> None:
        wanted = {
            "start": 0, "end": 0, "processId": 0, "threadId": 0, "correlationId": 0, "cbid": 0
        }  # fmt: skip
        for columns, _ in self.database.chunks(table, wanted):
            kept = self._once("calls", columns, ("processId", "correlationId", "cbid"))
            self.activities.add_calls(
                {
                    **kept,
                    "pid": kept["processId"],
                    "tid": kept["threadId"] & 0xFFFFFFFF,
                    "process": np.zeros_like(kept["start"]),  # device rows name none
                },
                kept["cbid"],
                lambda cbid: names.get(cbid, f"{otherwise} {cbid}"),
            )

    def _read_markers(self) -> None:
        """Pair starts and ends by id; ids are handed out once in a process."""
        blocks: list[Columns] = []
        wanted = {"flags": 0, "timestamp": 0, "id": 0, "name": 0, "objectKind": _OF_A_THREAD}
        for columns, raw in self.database.chunks(_MARKER, wanted, ["objectId"]):
            pid, tid = _threads(raw["objectId"])
            tid = np.where(columns["objectKind"] == _OF_A_THREAD, tid, -1)
            blocks.append({**columns, "pid": pid, "tid": tid})
        if not blocks:
            return
        table = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        flags = table["flags"]
        named = table["name"] != 0
        is_start = np.where(flags & (_START | _END), (flags & _START) != 0, named)
        is_end = np.where(flags & (_START | _END), (flags & _END) != 0, ~named)
        ranged = (flags & _INSTANT) == 0
        starts = self._first_of_each(np.flatnonzero(is_start & ranged), table)
        ends = self._first_of_each(np.flatnonzero(is_end & ranged), table)
        end_ids, end_times = table["id"][ends], table["timestamp"][ends]
        until = np.full(len(starts), -(1 << 60), np.int64)
        if len(ends):
            at = np.minimum(np.searchsorted(end_ids, table["id"][starts]), len(ends) - 1)
            until = np.where(end_ids[at] == table["id"][starts], end_times[at], until)
        for first in range(0, len(starts), 1 << 16):
            part = starts[first : first + (1 << 16)]
            ids = table["name"][part]
            strings = self.texts(ids)
            self.ranges.add(
                {
                    "start": table["timestamp"][part],
                    "end": until[first : first + (1 << 16)],
                    "pid": table["pid"][part],
                    "tid": table["tid"][part],
                },
                [strings.get(i, "") for i in ids.tolist()],
            )

    def _first_of_each(self, rows: Integers, table: Columns) -> Integers:
        """The rows with the first use of each marker id, by id."""
        order = np.lexsort((table["timestamp"][rows], table["id"][rows]))
        known, first = np.unique(table["id"][rows][order], return_index=True)
        self.activities.lost["duplicates of ranges"] += len(rows) - len(known)
        return rows[order][first]

    def _once(self, what: str, columns: Columns, key: tuple[str, ...]) -> Columns:
        """The rows whose key was not met before, in this chunk or an earlier one."""
        keys = _hash([columns[name] for name in key])
        earlier = self._seen.get(what, np.empty(0, np.uint64))
        new, first = np.unique(keys, return_index=True)
        keep = np.zeros(len(keys), np.bool_)
        keep[first] = True
        keep &= ~np.isin(keys, earlier, kind="sort")
        self.activities.lost[f"duplicates of {what}"] += int(np.count_nonzero(~keep))
        self._seen[what] = np.union1d(earlier, new)
        return {name: column[keep] for name, column in columns.items()}

    def _read_kernels(self) -> None:
        for columns in self.device_rows(*_KERNELS, name=0, gridId=0):
            key = ("correlationId", "start", "deviceId", "streamId", "gridId")
            kept = self._once("kernels", columns, key)
            new = self.texts(np.setdiff1d(kept["name"], list(self._kernels)))
            self._kernels |= _demangle(new)
            name_of = named(self._kernels, "kernel")
            self.activities.add_device_work(EventKind.Kernel, kept, kept["name"], name_of)

    def _read_syncs(self) -> None:
        contexts = self.database.select(_CONTEXT, ("contextId", "deviceId"))
        device_of = {each["contextId"]: each["deviceId"] for each in contexts}
        for columns in self.device_rows(_SYNC, type=0, contextId=0):
            ids = columns["contextId"].tolist()
            columns["deviceId"] = np.array([device_of.get(i) or 0 for i in ids], np.int64)
            self.activities.add_device_work(EventKind.Sync, columns, columns["type"], sync_name)

    def header(self) -> dict[str, Any]:
        """Return the devices, in the words of Kineto's `deviceProperties`."""
        devices = self.database.select(_DEVICE, _DEVICE_COLUMNS)
        names = self.texts(each["name"] for each in devices if isinstance(each["name"], int))
        rows = [{**each, "name": names.get(each["name"], "")}.values() for each in devices]
        return device_properties(rows) | {"profiler": "nvprof"}


def _demangle(names: Mapping[int, str]) -> dict[int, str]:
    """The kernels' names as they stood in the source; without `c++filt`, as they are given."""
    mangled = [name for name in names.values() if name.startswith(_MANGLED) and "\n" not in name]
    tool, readable = shutil.which("c++filt") if mangled else None, list[str]()
    if tool is not None:
        text = "\n".join(mangled).encode("utf-8", "replace")
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603  # names are given on stdin, not as arguments
                [tool], input=text, capture_output=True, timeout=_DEMANGLING_SECONDS, check=True
            )
            readable = done.stdout.decode("utf-8", "replace").splitlines()
    known = dict(zip(mangled, readable, strict=True)) if len(readable) == len(mangled) else {}
    return {key: known.get(name, name) for key, name in names.items()}


def _hash(columns: list[Column]) -> NDArray[np.uint64]:
    """A hash of each row; its 64 bits are enough to tell some ten million rows apart."""
    state = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        state = (state ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(29)
        state *= np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(32)
    return state


def _threads(objects: list[Any]) -> tuple[Integers, Integers]:
    """(process, thread) of markers, as CUPTI packs them: 4 bytes, then 8 of which 4 count."""
    unpacked: dict[Any, tuple[int, int]] = {}
    for each in set(objects):
        is_known = isinstance(each, bytes) and len(each) >= 8
        unpacked[each] = struct.unpack_from("<II", each) if is_known else (0, 0)
    pairs = [unpacked[each] for each in objects]
    pid, tid = np.array(pairs, np.int64).reshape(-1, 2).T
    return pid, tid
