"""CUDA and HIP graphs: whether the profiler recorded the kernels that they launch."""

from __future__ import annotations

from collections.abc import Sequence

from tidy.account import HostTime, host_in_window, host_kinds
from tidy.finding import NotChecked
from tidy.trace import Rows, Trace

from .launches import calls_of

KERNEL_LAUNCHES = ("cu*Launch*Kernel*", "hip*Launch*Kernel*")
GRAPH_LAUNCHES = ("cuGraphLaunch*", "cudaGraphLaunch*", "hipGraphLaunch*")
MORE_IN_GRAPHS = "larger batches, or the whole step, with its optimizer, in one CUDA graph"
# Where graphs without kernels are no more than this part of the launches, and what the account
# says is theirs no more than this part of the window, the rest can be judged.
_FEW = 0.01
LOST_IN_GRAPHS = NotChecked(
    "kernels inside CUDA graphs were not recorded, so the GPU may work where it seems to idle",
    "record a few steps without CUDA graphs, or with no other profiler using CUPTI",
)


def launched_in_steps(trace: Trace, launches: Sequence[str] = GRAPH_LAUNCHES) -> Rows:
    """Return the launches of graphs, or of kernels, in the steps that count."""
    calls = calls_of(trace, *launches)
    in_steps: Rows = calls[trace.step_time.contains(trace.start_ns[calls])]
    return in_steps


def lost_in_graphs(trace: Trace) -> bool:
    """Tell whether kernels of graphs were not recorded, and not of a few only."""
    graphs = calls_of(trace, *GRAPH_LAUNCHES)
    if not len(graphs):
        return False
    if len(trace.graphs_without_kernels) > _FEW * (
        len(graphs) + len(calls_of(trace, *KERNEL_LAUNCHES))
    ):
        return True
    code = host_kinds.CODE_OF[host_kinds.LOST_IN_GRAPHS]
    host = HostTime(trace)
    pieces = [host_in_window(trace, device, host) for device in trace.devices_used]
    spent_ns = [(each.end_ns - each.start_ns)[each.kind == code].sum() for each in pieces]
    return max(spent_ns, default=0) > _FEW * trace.window.time_ns
