"""Steps in which recurrent layers launch most, which torch.compile leaves as they are."""

from __future__ import annotations

import numpy as np

from tidy.trace import Intervals, Trace

from ..device import graphs
from ..device.autograd import backward_of
from ..device.launches import below, outermost_rows, tree_rows
from ..python.op_names import RECURRENT_LAYERS
from .host_idle import is_mostly_before

NOT_COMPILED = "torch.compile leaves recurrent layers alone"
GRAPHS_OF_LAYERS = f"larger batches or CUDA graphs: {NOT_COMPILED}"


def is_by_recurrent_layers(trace: Trace, idle: Intervals) -> bool:
    """Tell whether recurrent layers and their backward launch more than half, or what most idle
    time lies before.
    """
    layers = outermost_rows(trace, tree_rows(trace, *RECURRENT_LAYERS))
    both = np.concatenate([layers, backward_of(trace, layers)])
    inside = below(trace, outermost_rows(trace, np.unique(both)))
    calls = graphs.launched_in_steps(trace, graphs.KERNEL_LAUNCHES)
    most = 2 * inside.contains(trace.caller[calls]).sum() > len(calls)
    return bool(most) or is_mostly_before(trace, idle, inside)
