"""TDY701: a layer adds a bias that the batch norm after it takes away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidy.finding import Severity
from tidy.trace import Capability, Event, EventKind

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet

_CONVOLUTIONS = frozenset(
    f"aten::conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)
)
_LINEAR = "aten::linear"
_NORMS = frozenset({"aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm"})
_TRAINING = 5  # position of `training` among the inputs of aten::batch_norm
_BIAS = 2
# Python frames between two modules; more, and the two ops do not follow each other.
_FARTHEST_ROWS = 256


class BiasBeforeBatchNorm(Pattern):
    """A layer with a bias is followed at once by a batch norm, which subtracts the bias again.

        aten::conv2d, aten::linear    with a third input (the bias)
        aten::batch_norm    on what that gives

    Cost: adding the bias (shown where that is an op of its own), keeping and updating a parameter
    that has no effect.
    Instead: `nn.Conv2d(..., bias=False)`, `nn.Linear(..., bias=False)`. In inference
    (`training=False`) the whole batch norm can be folded into the layer
    (`torch.nn.utils.fuse_conv_bn_eval`); that is said as info.
    Misses: SyncBatchNorm; linear layers in traces of before PyTorch 1.12, without aten::linear.
    """

    code = "TDY701"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    triggers = _CONVOLUTIONS | {_LINEAR}
    fix = "pass bias=False to the layer before the norm"
    examples = (
        Fires(
            "modules",
            """
            model.py(20): forward
              nn.Module: Conv2d_0
                aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4], -, -, -, =1
                  aten::convolution
              nn.Module: BatchNorm2d_0
                torch/nn/modules/batchnorm.py(160): forward
                  aten::add_ | long int[], =1, =1
                  aten::batch_norm | float[16, 4, 4, 4], float[4], float[4], -, -, =True
            """,
            at="model.py:20",
        ),
        Fires(
            "one-dimension-without-stacks",
            """
            aten::conv1d | float[16, 1, 4], float[4, 1, 3], float[4]
            aten::batch_norm | float[16, 4, 4], float[4], float[4], float[4], float[4], =True
            """,
        ),
        Fires(
            "inference",
            """
            aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4]
            aten::batch_norm | float[16, 4, 4, 4], float[4], float[4], float[4], float[4], =False
            """,
            severity=Severity.INFO,
        ),
        Fires(
            "linear",
            """
            model.py(20): forward
              nn.Module: Linear_0
                aten::linear | float[16, 8], float[4, 8], float[4]
                  aten::t
                  aten::addmm
              nn.Module: BatchNorm1d_0
                aten::batch_norm | float[16, 4], float[4], float[4], float[4], float[4], =True
            """,
            at="model.py:20",
        ),
        Quiet(
            "linear-over-a-sequence",
            """
            aten::linear | float[16, 9, 8], float[4, 8], float[4]
            aten::batch_norm | float[16, 9, 4], float[9], float[9], float[9], float[9], =True
            """,
        ),
        Quiet(
            "no-bias",
            """
            aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], -
            aten::batch_norm | float[16, 4, 4, 4], float[4], float[4], float[4], float[4], =True
            """,
        ),
        Quiet(
            "relu-between",
            """
            aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4]
            aten::relu | float[16, 4, 4, 4]
            aten::batch_norm | float[16, 4, 4, 4], float[4], float[4], float[4], float[4], =True
            """,
        ),
        Quiet(
            "of-another-tensor",
            """
            aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4]
            aten::batch_norm | float[16, 9, 4, 4], float[9], float[9], float[9], float[9], =True
            """,
        ),
        Abstains("no-shapes", "aten::conv2d\naten::batch_norm"),
    )

    def match(self, event: Event) -> bool:
        dtypes = event.input_dtypes
        if len(dtypes) <= _BIAS or not dtypes[_BIAS]:
            return False
        norm = _next_op(event)
        return norm is not None and norm.name in _NORMS and _fits(event, norm)

    def severity_of(self, event: Event) -> Severity:
        return Severity.WARNING if _is_training(event) else Severity.INFO

    def cost_rows(self, event: Event) -> Iterable[int]:
        # Where the bias has an op (and a kernel) of its own; elsewhere its time is not to be told.
        added = [below for below in event.descendants() if below.name == "aten::add_"]
        kernels = [work.row for below in added for work in below.kernels]
        return kernels or [below.row for below in added]

    def message(self, events: Sequence[Event]) -> str:
        if _is_training(events[0]):
            return "a bias is added and then removed by the batch norm"
        return "in inference the batch norm can be folded into the layer before it"


def _next_op(event: Event) -> Event | None:
    """The next op on the thread after all that `event` holds, but for BatchNorm's own counter."""
    trace = event.trace
    first = int(trace.subtree_end[event.row])
    ahead = slice(first, min(first + _FARTHEST_ROWS, trace.tree_count))
    ops = (trace.kind[ahead] == EventKind.TorchOp) & (
        trace.track_id[ahead] == trace.track_id[event.row]
    )
    passed = first
    for row in (first + np.flatnonzero(ops)).tolist():
        if row < passed:
            continue
        op = Event(trace, row)
        if not _counts_batches(op):
            return op
        passed = int(trace.subtree_end[row])
    return None


def _counts_batches(op: Event) -> bool:
    """`num_batches_tracked.add_(1)`: an integer without dimensions."""
    if op.name not in ("aten::add_", "aten::add"):
        return False
    return op.input_dtypes[:1] == ("long int",) and op.input_shapes[:1] == ((),)


def _fits(layer: Event, norm: Event) -> bool:
    """Whether the norm can be of the layer's output: same batch, its number of channels."""
    given, taken = layer.input_shapes, norm.input_shapes
    if len(given) < 2 or not taken or not given[0] or not taken[0]:
        return True
    if len(given[0]) != len(taken[0]) or given[0][0] != taken[0][0]:
        return False
    if layer.name == _LINEAR and len(given[0]) != 2:
        return False  # features come last there, channels second
    return "transpose" in layer.name or bool(given[1][0] == taken[0][1])


def _is_training(layer: Event) -> bool:
    norm = _next_op(layer)
    values = norm.concrete_inputs if norm is not None else ()
    return len(values) <= _TRAINING or values[_TRAINING] != "False"
