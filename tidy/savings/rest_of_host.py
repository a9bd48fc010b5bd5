"""The effect of a fix on the rest of the host's time, which its edit does not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..trace import EventKind, Trace
from .edit import Edit
from .graph import Graph

# Host time that a fix removes leaves caches and the clock rate to the rest; and work that goes to
# other processes takes memory and cores from it. Over measured pairs (docs/savings.md) the
# rest of the host's time was up to a fifth shorter, or some hundredths longer where work was moved,
# when a quarter of the step and more was taken away; less in proportion.
_FASTER, _SLOWER = 0.2, 0.08
_IN_FULL_FROM = 0.25
# Time that recording added to steps is taken off them, but where these wait for a device nothing
# tells how much that is: elsewhere it is 1.5 to 4 us for an event, most often around this.
_RECORDING_NS, _MOST_RECORDING = 2_500, 0.2
_RECORDED = EventKind.TorchOp, EventKind.Annotation, EventKind.Runtime


class RestOfHost:
    """The part by which the rest of the host's time may get shorter or longer.

    Attributes:
        recording: the part that recording it may be, where nothing told how much that is.
    """

    def __init__(self, trace: Trace, graph: Graph, steps: Sequence[tuple[int, int]]) -> None:
        """Take the unchanged graph, and the steps as times of the host, [start, end) each."""
        self._full_ns = max(_IN_FULL_FROM * sum(end - start for start, end in steps), 1.0)
        self._duration_ns, self._is_call = trace.duration_ns, trace.kind == EventKind.Runtime
        self._waiting_ns = int(self._duration_ns[graph.row[graph.waits_for >= 0]].sum())
        self.recording = _recording(trace, graph)

    def slower(self, edits: Sequence[Edit]) -> float:
        """Return the part by which it gets longer at worst."""
        moved = (time.total_ns for edit in edits if edit.moves for time in edit.host.values())
        return _SLOWER * min(1.0, sum(moved) / self._full_ns)

    def faster(self, edits: Sequence[Edit], saved_ns: int) -> float:
        """Return the part by which it gets shorter at best.

        A host that waits less, as the kernels for which it waits are shorter, is eased like one
        that no longer waits.

        Args:
            saved_ns: what the edits save at the most, of all steps together.
        """
        worked_ns = sum(time.total_ns for edit in edits for time in edit.host.values())
        waits = [np.asarray(edit.waits, np.int64) for edit in edits]
        waited_ns = sum(int(self._duration_ns[each[self._is_call[each]]].sum()) for each in waits)
        taken_ns = max(worked_ns + waited_ns, min(saved_ns, self._waiting_ns))
        return _FASTER * min(1.0, taken_ns / self._full_ns)


def _recording(trace: Trace, graph: Graph) -> float:
    header = trace.info.header
    if "tidy_times" not in header or header.get("tidy_taken_off_ns") is not None:
        return 0.0
    start, end = graph.start_ns.min(initial=0), graph.start_ns.max(initial=0)
    on_host = np.isin(trace.kind, _RECORDED) & (trace.start_ns >= start) & (trace.start_ns < end)
    took_ns = max(int(graph.gap_ns.sum() + graph.length_ns.sum()), 1)
    return float(min(_RECORDING_NS * on_host.sum() / took_ns, _MOST_RECORDING))
