"""Function events: what `profile.events()` of PyTorch lists, as columns.

They follow `_parse_kineto_results` in torch/autograd/profiler.py, and `FunctionEvent` and
`EventList._build_tree` in torch/autograd/profiler_util.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, EventKind
from .backward_stacks import with_forward_stacks
from .device import use_device
from .flops import count_flops
from .host import measure_host
from .select import ON_DEVICE, device_rows, key_names, start_order
from .stacks import Stacks
from .views import FunctionEvent

if TYPE_CHECKING:
    from ..trace import Trace

Column = NDArray[np.int64]
_ANNOTATIONS = (EventKind.Annotation, EventKind.DeviceAnnotation)


class FunctionEvents:
    """Columns of n events, by start and then the longer first; times in ns, memory in bytes.

    Attributes:
        trace: where they come from.
        rows: the trace's row of each.
        keys, key_id: names, and the index of each event's among them.
        parent: index of the event around it on its thread, -1 for none.
        is_device, is_annotation: a row of a device; a range that the user marked.
        columns: `cpu_ns`, `device_ns`, `cpu_nbytes`, `device_nbytes` and the same after `self_`,
            which is without what the children have.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.keys, key_of_name = key_names(trace)
        host = measure_host(trace, key_of_name)
        device, records = device_rows(trace), host.lone_records
        rows = np.concatenate([host.rows, device, records])
        order = start_order(trace, rows)
        self.rows: Column = rows[order]
        self.key_id: NDArray[np.int32] = key_of_name[trace.name_id[self.rows]]
        kind = trace.kind[self.rows]
        self.is_annotation: NDArray[np.bool_] = np.isin(kind, _ANNOTATIONS)
        self.is_device: NDArray[np.bool_] = np.isin(kind, ON_DEVICE)
        others = _of_devices_and_records(trace, device, records)
        self.columns: dict[str, Column] = {
            name: np.concatenate([column, others[name.removeprefix("self_")]])[order]
            for name, column in host.columns.items()
        }
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        parent = np.full(len(order), -1, np.int64)
        inner = np.flatnonzero(host.parent >= 0)
        parent[place[inner]] = place[host.parent[inner]]
        self.parent: Column = parent

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> FunctionEvent:
        return FunctionEvent(self, range(len(self))[index])

    def __iter__(self) -> Iterator[FunctionEvent]:
        return (FunctionEvent(self, index) for index in range(len(self)))

    # -- what only some questions need ------------------------------------------------------------

    @cached_property
    def flops(self) -> Column:
        """FLOPs of each call, 0 where shapes were not recorded or the op has no formula."""
        result = np.zeros(len(self), np.int64)
        inputs_id = self.trace.inputs_id[self.rows]
        called = np.flatnonzero(inputs_id >= 0)
        pairs, inverse = np.unique(
            self.key_id[called].astype(np.int64) << 32 | inputs_id[called], return_inverse=True
        )
        inputs = self.trace.inputs
        counts = [
            count_flops(self.keys[pair >> 32], inputs, pair & 0xFFFFFFFF) for pair in pairs.tolist()
        ]
        result[called] = np.array(counts, np.int64)[inverse]
        return result

    @cached_property
    def stacks(self) -> Stacks:
        return Stacks(self.trace)

    @cached_property
    def stack_number(self) -> Column:
        """The stack of each event, of a backward event that of its forward."""
        return with_forward_stacks(self, self.stacks.of_row[self.rows])

    @cached_property
    def use_device(self) -> str | None:
        """PyTorch's word for the devices recorded, None where there are none."""
        return use_device(self.trace)

    @property
    def profile_memory(self) -> bool:
        """Whether memory was recorded."""
        info = self.trace.info
        return info.flag("profile_memory") or Capability.MEMORY in self.trace.capabilities

    @property
    def with_flops(self) -> bool:
        """Whether the profiler was asked for FLOPs."""
        return self.trace.info.flag("with_flops")


def _of_devices_and_records(trace: Trace, device: Column, records: Column) -> dict[str, Column]:
    """What rows of devices, and then memory records during no event, add to each column."""
    nbytes, on_device = trace.nbytes[records], trace.device[records] >= 0
    no_time, no_memory = np.zeros(len(records), np.int64), np.zeros(len(device), np.int64)
    return {
        "cpu_ns": np.zeros(len(device) + len(records), np.int64),
        "device_ns": np.concatenate([trace.duration_ns[device], no_time]),
        "cpu_nbytes": np.concatenate([no_memory, np.where(on_device, 0, nbytes)]),
        "device_nbytes": np.concatenate([no_memory, np.where(on_device, nbytes, 0)]),
    }
