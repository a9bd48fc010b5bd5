"""TDY701: a layer adds a bias that the batch norm after it takes away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tidy.finding import Severity
from tidy.trace import Capability, Event, Rows, Trace, rows_of
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from ..base import Matches, Pattern
from ..evidence.device import autograd, launches
from ..evidence.fixes import edits
from ..evidence.python.made_places import module_made_at
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, under
from ..option import EASY_WARNING, warning_share

_CONVOLUTIONS = frozenset(
    f"aten::conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)
)
_LINEAR = "aten::linear"
_NORMS = frozenset({"aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm"})
_TRAINING = 5  # position of `training` among the inputs of aten::batch_norm
_BIAS = 2
_FOLD = "fold it once, after loading: torch.nn.utils.fuse_conv_bn_eval"

_CONV = "aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4]"
_CONV_1D = "aten::conv1d 20us | float[16, 1, 4], float[4, 1, 3], float[4]"
_AUTOCAST = under(_CONV_1D, under(_CONV_1D.replace("float", "c10::Half"), "aten::add_ 9us"))
_LAYER = "aten::linear | float[16, 8], float[4, 8], float[4]"


def _norm(dims: str, channels: int = 4, training: bool = True) -> str:
    parameters = ", ".join(4 * [f"float[{channels}]"])
    return f"aten::batch_norm | float[16, {dims}], {parameters}, ={training}"


class BiasBeforeBatchNorm(Pattern):
    """A layer with a bias is followed at once by a batch norm, which subtracts the bias again.

    What it does: It finds convolutions and linear layers with a bias whose next op is a batch norm
    that fits their output. It is info in inference (`training=False`), and if the bias is not added
    by a separate op, whose time would be known.
    Why it costs: Adding the bias takes time (shown if a separate op adds it), and a parameter
    without effect is kept and updated.
    Example: `nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))`, recorded as

        aten::conv2d, aten::linear    with a third input (the bias)
        aten::batch_norm              on what that gives

    Instead: Write `nn.Conv2d(..., bias=False)` or `nn.Linear(..., bias=False)`. In inference the
    whole batch norm can be folded into the layer (`torch.nn.utils.fuse_conv_bn_eval`).
    Cannot see: It misses SyncBatchNorm, and linear layers in traces from before PyTorch 1.12.
    """

    code = "TDY701"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    triggers = _CONVOLUTIONS | {_LINEAR}
    why_no_edit = "the bias has no separate op, so its time is not known"
    fix = "pass bias=False to the layer before the norm"
    warning_from = warning_share(EASY_WARNING)
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
            severity=Severity.INFO,
        ),
        Fires("without-stacks", joined(under(_CONV_1D, "aten::add_ 9us"), _norm("4, 4"))),
        Fires("counts-once-under-autocast", joined(_AUTOCAST, _norm("4, 4"))),
        Fires("inference", joined(_CONV, _norm("4, 4, 4", training=False)), severity=Severity.INFO),
        Fires(
            "linear",
            under(
                FRAME,
                under(f"nn.Module: Linear_0 > {_LAYER}", "aten::t", "aten::addmm"),
                under("nn.Module: BatchNorm1d_0", _norm("4")),
            ),
            at=AT,
            severity=Severity.INFO,
        ),
        Quiet("over-a-sequence", joined(_LAYER.replace("16,", "16, 9,"), _norm("9, 4", 9))),
        Quiet("no-bias", joined(_CONV.replace("float[4]", "-"), _norm("4, 4, 4"))),
        Quiet("relu-between", joined(_CONV, "aten::relu | float[16, 4, 4, 4]", _norm("4, 4, 4"))),
        Quiet("of-another-tensor", joined(_CONV, _norm("9, 4, 4", 9))),
        Abstains("no-shapes", "aten::conv2d\naten::batch_norm"),
    )

    def match(self, event: Event) -> bool:
        return event.row in _norms(event.trace)

    def severity_of(self, event: Event) -> Severity:
        return Severity.WARNING if _is_training(event) else Severity.INFO

    def find(self, trace: Trace) -> Matches:
        for match in self.by_place(launches.outermost(self.matched_events(trace))):
            ops = trace.events(_ops_of_bias(trace, rows_of(match.events)))
            # The parameter is not updated either, which is not counted.
            edit = edits.without_ops(trace, ops, "no bias", (0.0, 0.2)) if len(ops) else None
            work = edits.work_of(trace, ops)
            cost = work if len(work) else rows_of(ops)
            # A folded norm is made nowhere in the layer's constructor.
            place = module_made_at(trace, match.events) if _is_training(match.events[0]) else None
            yield replace(match, cost=cost, edit=edit, fix_place=place)

    def fix_of(self, events: Sequence[Event]) -> str:
        return self.fix if _is_training(events[0]) else _FOLD

    def message(self, events: Sequence[Event]) -> str:
        if _is_training(events[0]):
            return "a bias is added and then removed by the batch norm"
        return "in inference the batch norm can be folded into the layer before it"


def _ops_of_bias(trace: Trace, layers: Rows) -> Rows:
    """Rows of what adds the bias, and of what sums its gradient in backward, if these are ops."""
    inside = launches.below(trace, layers)
    backward, forward = autograd.forward_links(trace).T
    nodes = launches.below(trace, backward[inside.contains(forward)])
    adds, sums = (launches.tree_rows(trace, name) for name in ("aten::add_", "aten::sum"))
    return np.append(adds[inside.contains(adds)], sums[nodes.contains(sums)])


@kept
def _norms(trace: Trace) -> dict[int, int]:
    """The row of the batch norm right after each layer with a bias that it may be of."""
    layers = launches.tree_rows(trace, *_CONVOLUTIONS, _LINEAR)
    layers = layers[trace.by_call(layers, lambda _, inputs: _has_bias(trace, inputs)) > 0]
    adds = launches.tree_rows(trace, "aten::add_", "aten::add")
    is_counter = np.zeros(trace.tree_count, bool)
    is_counter[adds] = trace.by_call(adds, lambda _, inputs: _counts_batches(trace, inputs))
    after = launches.op_after_each(trace, layers, is_counter)
    is_norm = launches.has_name(trace, *_NORMS)[trace.name_id[after]] & (after >= 0)
    found, known = dict[int, int](), dict[tuple[int, ...], bool]()
    for layer, norm in zip(layers[is_norm].tolist(), after[is_norm].tolist(), strict=True):
        inputs = (int(trace.inputs_id[layer]), int(trace.inputs_id[norm]))
        alike = (int(trace.name_id[layer]), *inputs)
        if alike not in known:
            known[alike] = _fits(trace.event(layer), trace.event(norm))
        if known[alike]:
            found[layer] = norm
    return found


def _has_bias(trace: Trace, inputs_id: int) -> bool:
    dtypes = trace.inputs.dtypes(inputs_id)
    return len(dtypes) > _BIAS and bool(dtypes[_BIAS])


def _counts_batches(trace: Trace, inputs_id: int) -> bool:
    """`num_batches_tracked.add_(1)`: an integer without dimensions."""
    if trace.inputs.dtypes(inputs_id)[:1] != ("long int",):
        return False
    return trace.inputs.shapes(inputs_id)[:1] == ((),)


def _fits(layer: Event, norm: Event) -> bool:
    """Tell whether the norm can be of the layer's output: same batch, its number of channels."""
    given, taken = layer.input_shapes, norm.input_shapes
    if len(given) < 2 or not taken or not (is_dims(given[0]) and is_dims(taken[0])):
        return False
    (dims, weight), output = given[:2], taken[0]
    if len(output) < 2 or not weight:
        return False  # nothing has channels to compare
    # Of a linear layer over a sequence features come last, where channels are second.
    alike = len(dims) == len(output) and dims[0] == output[0]
    alike &= layer.name != _LINEAR or len(dims) == 2
    return alike and ("transpose" in layer.name or bool(weight[0] == output[1]))


def _is_training(layer: Event) -> bool:
    values = layer.trace.event(_norms(layer.trace)[layer.row]).concrete_inputs
    return len(values) <= _TRAINING or values[_TRAINING] != "False"
