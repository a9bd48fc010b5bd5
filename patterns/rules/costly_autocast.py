"""TDY506: autocast whose casts take longer than what half precision saves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.account import OpWork, rates_of
from tidy.account.work_kinds import PRODUCTS, TENSOR_CORES, kernel_kinds
from tidy.finding import NotApplicable, Obstacle
from tidy.savings import Edit
from tidy.trace import Capability, EventKind, Events, Rows, Trace, range_text, time_text

from ..base import DevicePattern, Match, Matches
from ..evidence.device import autograd, devices, launches, obstacles, products
from ..evidence.fixes import edits
from ..evidence.python.op_names import aten
from ..evidence.time.timing import Cost
from ..examples import AT, Abstains, Fires, Quiet, launch, looped, on_gpu, under
from ..option import EASY_WARNING, share, word_share

_HALVES = ("c10::Half", "c10::BFloat16")
# Those of Python: a cast within any other op is autocast's.
_CASTS = aten("to _to_copy type_as copy_ _autocast_to_reduced_precision")
# In float32 a kernel moves twice the bytes at the most. Of the peak products reach so much at the
# worst and at the best; at the least half precision saves them nothing.
_TIMES, _REACHED = 2.0, (0.5, 0.9)


def _cast(dims: str, us: int) -> str:
    """A cast after which the next kernel is launched when this one has ended."""
    return launch(
        f"aten::to | float[{dims}] > aten::_to_copy | float[{dims}]"
        f" > aten::copy_ {us + 1}us | c10::Half[{dims}], float[{dims}], =False",
        f"copy_kernel {us}us",
    )


def _layer(cast_us: int, product_us: int, size: int = 64) -> str:
    """A linear layer under autocast, with the casts of its input and its weight."""
    dims, half = f"{size}, {size}", f"c10::Half[{size}, {size}]"
    mm = f"aten::mm {product_us + 1}us | {half}, {half}"
    product = launch(mm, f"s16816gemm_fp16 {product_us}us")
    wrapper = f"aten::linear | float[{dims}], float[{dims}]"
    return under(wrapper, _cast(dims, cast_us), _cast(dims, cast_us), product)


_RELU = launch("aten::relu 61us | c10::Half[64, 64]", "relu_kernel 60us")
_BY_HAND = _cast("64, 64", 40) + launch("aten::mm | c10::Half[64, 64], c10::Half[64, 64]", "gemm")


_GRAPH = launch("graph", "sm80_gemm_f16f16 900us", "sm80_gemm_f16f16 900us", call="cudaGraphLaunch")


class CostlyAutocast(DevicePattern):
    """Autocast casts for longer than what half precision saves.

    What it does: It adds up the casts from float32 that operators under autocast make of their
    inputs and weights, with their backward: their kernels, and what the host takes for them while
    the GPU idles. It compares that with the most that all operators in half precision can save, if
    in TF32 (or float32, if TF32 is no faster) they moved twice the bytes and computed at half of
    the peak. It reports a run if even that is less, by 2 % of the steps or more.
    Why it costs: Each cast is a kernel that reads and writes a whole tensor. Small products take as
    long in half precision as in float32, and have casts besides.
    Example: Small `nn.Linear` layers under `torch.autocast("cuda")`, recorded as

        aten::linear               float [64, 64]
          aten::to  => a copy      float -> half, the input
          aten::to  => a copy      float -> half, the weight
          aten::mm  => a product   half

    Instead: Leave these layers out, with `torch.autocast("cuda", enabled=False)`, where TF32 is a
    setting: `torch.set_float32_matmul_precision("high")`. Or keep the weights, or the whole model,
    in bfloat16: then nothing is cast.
    Cannot see: It judges the whole run: of many layers some may lose where all together gain. It
    does not know what less memory is worth, and sees no casts in compiled code and CUDA graphs.
    """

    code = "TDY506"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    fix = "autocast(enabled=False) for these layers, with TF32 on; or weights in bfloat16"
    worth_a_word = word_share(0.02, "what autocast costs more than it saves")
    warning_from = share(
        EASY_WARNING, "where no replay tells what the fix saves, it is a warning from this share on"
    )
    examples = (
        Fires("small-products", looped(_layer(40, 5) * 4, lasts_us=500), events=16, at=AT),
        Fires("casts-in-a-row", looped(_layer(40, 70) * 4, lasts_us=900), events=16, at=AT),
        Quiet("products-gain", looped(_layer(40, 95) * 4, lasts_us=900)),
        Quiet("large-products", looped(_layer(45, 80, size=2048) * 4, lasts_us=900)),
        Quiet("other-work-gains", looped(_layer(40, 5) * 4, _RELU * 6, lasts_us=900)),
        Quiet("graphs-may-gain", looped(_layer(40, 5) * 4, _GRAPH, lasts_us=4000)),
        Quiet("next-to-nothing", looped(_layer(40, 5), lasts_us=90_000)),
        Quiet("cast-by-hand", looped(_BY_HAND * 4, lasts_us=500)),
        Abstains("unknown-rates", on_gpu(_layer(40, 5), gpu="# device 0 NVIDIA X999 8.0\n")),
        Abstains("cpu-run", "aten::linear | float[64, 64], float[64, 64]"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        unknown = obstacles.nvidia_unknown(trace)
        if unknown is not None:
            return unknown
        name = devices.used_devices(trace, "nvidia")[0].name
        return None if rates_of(name) else NotApplicable(f"the rates of {name} are not known")

    def find(self, trace: Trace) -> Matches:
        casts = _casts_of_autocast(trace)
        if not len(casts):
            return
        both = np.union1d(casts, autograd.backward_of(trace, casts))
        kernels = edits.work_of(trace, Events(trace, both))
        idle = devices.all_idle(trace) & trace.time_of(both) & trace.window.time
        time = (trace.time_of(kernels) & trace.window.time) | idle
        saved = _saved_by_half(trace, kernels)
        net = (trace.step_share(time) or 0.0) * (1 - saved.most_ns / max(time.total_ns, 1))
        if net < self.worth_a_word:
            return
        count = trace.window.step_count
        costs_ns = time.total_ns / count
        saves = range_text(saved.least_ns / count, saved.most_ns / count, costs_ns)
        a_step = "" if trace.window.unit == "run" else f" a {trace.window.unit}"
        saves += f" {time_text(costs_ns).rpartition(' ')[2]}"
        left = saved.least_ns / time.total_ns, saved.most_ns / time.total_ns
        yield Match(
            Events(trace, casts),
            message=f"autocast costs more than it gains here: casts {time_text(costs_ns)}{a_step},"
            f" half precision saves {saves}",
            location=trace.location(_costliest(trace, casts)),
            cost=Cost(time, net >= self.warning_from, on_device=True),
            edit=Edit("without autocast", edits.host_time(trace, both), kernels, left=left),
        )


class _Saved(NamedTuple):
    """What half precision saves in the window."""

    least_ns: float
    most_ns: float


def _casts_of_autocast(trace: Trace) -> Rows:
    """The outermost casts to half precision in operators that are no casts, in the window."""
    copies = launches.tree_rows(trace, "aten::copy_")
    copies = copies[trace.in_window(copies)]

    def is_down(_: str, inputs_id: int) -> int:
        new, old, *_rest = *trace.inputs.dtypes(inputs_id), "", ""
        return int(new in _HALVES and old == "float")

    copies = copies[trace.by_call(copies, is_down) > 0]
    is_cast = launches.has_name(trace, *_CASTS)
    around = launches.ops_around(trace, copies)
    copies = copies[(around >= 0) & ~is_cast[trace.name_id[around]]]
    casts = copies
    for _ in range(2):  # aten::to holds aten::_to_copy, which holds aten::copy_
        above = trace.parent[casts].astype(np.int64)
        casts = np.where((above >= 0) & is_cast[trace.name_id[above]], above, casts)
    found: Rows = np.unique(casts[casts != copies])
    return found


def _saved_by_half(trace: Trace, casts: Rows) -> _Saved:
    """What the kernels of operators in half precision would take longer in float32 or TF32.

    Args:
        casts: kernels that do not count.
    """
    rows = trace.rows_of_kind(EventKind.Kernel)
    rows = rows[trace.in_window(rows) & ~np.isin(rows, casts)]
    # What nothing is known of (in graphs, of extensions) may be in half precision as well.
    is_told = products.takes_dtype(trace, rows, "")
    in_half = products.takes_dtype(trace, rows, _HALVES[0])
    in_half |= products.takes_dtype(trace, rows, _HALVES[1]) | ~is_told
    rows, is_told = rows[in_half], is_told[in_half]
    rates = rates_of(devices.used_devices(trace, "nvidia")[0].name)
    if rates is None or not len(rows):
        return _Saved(0.0, 0.0)
    half = max(rates.peak(each, True) or 1.0 for each in ("float16", "bfloat16"))
    tf32 = rates.peak("tf32", True) if products.gains_by_tf32(trace) else None
    other = tf32 or rates.peak("float32", False) or half
    spent_ns = trace.duration_ns[rows].astype(np.float64)
    needs_ns = _flops(trace, rows, spent_ns) / other * 1e9
    most = np.maximum(_TIMES * spent_ns, needs_ns / _REACHED[0])
    # Of products without known sizes all may be operations.
    ids, which = np.unique(trace.name_id[rows], return_inverse=True)
    kinds = kernel_kinds(trace.names[each] for each in ids.tolist())
    multiplies = [kind in (TENSOR_CORES, PRODUCTS) for kind in kinds]
    is_open = np.array(multiplies, bool)[which] & (needs_ns == 0) | ~is_told
    most = np.where(is_open, max(_TIMES, half / other) * spent_ns, most)
    least = np.maximum(spent_ns, needs_ns / _REACHED[1])
    return _Saved(float((least - spent_ns).sum()), float((most - spent_ns).sum()))


def _flops(trace: Trace, kernels: Rows, spent_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The operations of each kernel: those of one op by their time."""
    work = OpWork(trace)
    op = work.op_of(kernels)
    known = op >= 0
    result = np.zeros(len(kernels))
    of_op = np.bincount(op[known], spent_ns[known], len(work.rows))
    result[known] = work.flops[op[known]] * spent_ns[known] / np.maximum(of_op[op[known]], 1)
    return result


def _costliest(trace: Trace, casts: Rows) -> int:
    """The cast with the longest kernel."""
    work = launches.below(trace, casts).contains(trace.launching_ops(trace.device_rows))
    rows = trace.device_rows[work]
    return int(trace.launching_ops(rows)[trace.duration_ns[rows].argmax()]) if len(rows) else -1
