"""TDY502: products and convolutions in float32 where half the bits would be faster."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tidy.account import OpWork, rates_of
from tidy.finding import NotApplicable, NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Location, Trace
from tidy.trace.inputs import is_dims

from ..base import DevicePattern, Match, Matches
from ..evidence.device import devices, graphs, launches, obstacles, products
from ..evidence.device.products import Precision
from ..evidence.fixes import edits
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, under
from ..option import LARGE_INFO, LARGE_WARNING, WORTH_A_WARNING, share, warning_share, word_share

# Half precision against float32 and TF32 where the device is none whose rates are known.
_RATIO_UNKNOWN = {Precision.FLOAT32: 4.0, Precision.TF32: 2.0}
# What is left at the worst: casts, sizes that are small, kernels that memory holds up.
_AT_WORST = {Precision.FLOAT32: 0.6, Precision.TF32: 0.9}
_SHORTEST_NS = 3_000  # a kernel takes as long, whatever it computes
_ABOVE_FLOOR = 1.25, 3.0

_V100 = "# device 0 Tesla V100-SXM2-16GB 7.0"
_FLOAT = "float[512, 512], float[512, 512]"
_SGEMM = launch(f"aten::mm | {_FLOAT}", "volta_sgemm_128x64_nn 400us")
_NO_LENGTH = _SGEMM.replace("400us", "0us")
_HALF = launch("aten::mm | c10::Half[64, 64], c10::Half[64, 64]", "volta_fp16_s884gemm_fp16 90us")
_TF32_KERNEL = "cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4 400us"
_TF32 = launch(f"aten::mm | {_FLOAT}", _TF32_KERNEL)
_TF32_SMALL = _TF32.replace("400us", "2us")
_SCUDNN = launch("aten::convolution > aten::cudnn_convolution", "volta_scudnn_128x64_relu 400us")
_GEMV = launch("aten::mv | float[64, 64], float[64]", "gemv2T_kernel_val<int, int, float> 400us")
_DOUBLE = launch("aten::mm | double[64, 64], double[64, 64]", "volta_dgemm_64x64_nn 400us")
_H100 = "# device 0 NVIDIA H100 80GB HBM3 9.0"
_NVJET = launch("aten::mm | c10::BFloat16[64, 64], c10::BFloat16[64, 64]", "nvjet_tst_128x64 90us")
_TEMPLATE = launch("triton_tem_fused_mm_0 | {0}[64, 64], {0}[64, 64]", "triton_tem_fused_mm_0 90us")
_RELU = launch("aten::relu", "relu_kernel 2us")
_GRAPH = launch("graph", _TF32_KERNEL, call="cudaGraphLaunch")
_GRAPH_IN_HALF = launch(
    "graph", "nvjet_hsh_128x64 90us", "fp16_s884gemm_fp16 90us", call="cudaGraphLaunch"
)
_OPTIMIZER = under("Optimizer.step#Shampoo.step", _SGEMM)

_UNTOLD = NotChecked(
    "neither names nor inputs tell whether most products are in float32",
    "record some steps with record_shapes=True, without max-autotune and CUDA graphs",
)
_HOW_MUCH = "; their sizes are unknown: record some steps without graphs"
_GEMM = re.compile(r"(?<!implicit_)gemm_")


class Float32Products(DevicePattern):
    """Products and convolutions run in float32 where half the bits would be faster.

    What it does: It adds up the kernels of matrix products and convolutions that ran in float32 (or
    TF32), by their names and, where recorded, the dtypes of the inputs. It says nothing of a run
    that has half precision already, whose other products are in float32 on purpose, nor of what an
    optimizer multiplies. It is not checked if neither names nor dtypes tell the precision for most
    of the time. Products of a vector do not count, nor what takes less than 5 % of the time. Of
    templates of Triton in float32 it is not known whether they use TF32: they count as if they did.
    Why it costs: In float16 or bfloat16 Tensor Cores have 8 times the rate of float32 on a V100 or
    T4, 4 times on an RTX 2080 Ti, 16 times on an A100, and twice that of TF32; and there is half as
    much to read.
    Example: `model(inputs)` without autocast on a V100, recorded as

        aten::mm, aten::cudnn_convolution, aten::convolution_backward, ...    Input type float
          => a kernel named sgemm, scudnn, tf32, ...

    Instead: Run the forward under `torch.autocast("cuda", torch.bfloat16)`. GPUs before compute
    capability 8.0 have float16 alone, which wants `torch.amp.GradScaler` too.
    Cannot see: The trace does not tell whether a model trains as well with fewer bits. On products
    that TF32 would speed up (TDY501, one line) the saving is what half precision adds to that. It
    misses kernels whose names do not tell their precision, AMD, and GPUs without Tensor Cores. Of
    products in CUDA graphs neither sizes nor casts are recorded: they may gain nothing, and where
    most are in graphs it is info.
    """

    code = "TDY502"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = 'forward under torch.autocast("cuda", torch.bfloat16)'
    already_lower = share(
        0.05, "where this part of products is in half precision, float32 was left on purpose"
    )
    worth_a_word = word_share(LARGE_INFO, "products")
    warning_from = warning_share(WORTH_A_WARNING)
    warning_from_tf32 = share(
        LARGE_WARNING, "the same where most products are in TF32 already: there is less to gain"
    )
    examples = (
        Fires("v100", joined(_V100, under(FRAME, _SGEMM)), at=AT),
        Fires("convolution-without-shapes", joined(_V100, under(FRAME, _SCUDNN)), at=AT),
        Fires("tf32", on_gpu(_TF32, frame=FRAME), at=AT),
        Fires("float32-on-an-a100", on_gpu(_SGEMM, _SGEMM, frame=FRAME), events=2, at=AT),
        Fires("one-without-length", joined(_V100, under(FRAME, _SGEMM, _NO_LENGTH)), 2, AT),
        Fires("in-a-graph", on_gpu(_RELU, _GRAPH, frame=FRAME), at=AT, severity=Severity.INFO),
        Quiet("in-a-graph-in-half", on_gpu(_RELU, _GRAPH_IN_HALF, frame=FRAME)),
        Quiet("autocast", joined(_V100, _HALF, _SGEMM)),
        Quiet("autocast-by-the-inputs", joined(_H100, _NVJET, _SGEMM)),
        Quiet("templates-of-triton-in-half", on_gpu(_TEMPLATE.format("c10::Half"), _SGEMM)),
        Fires("templates-of-triton-in-float", on_gpu(_TEMPLATE.format("float") * 2), events=2),
        Abstains("templates-of-triton-in-what", on_gpu(re.sub(r" \| .*", "", _TEMPLATE))),
        Quiet("a-vector", joined(_V100, _GEMV)),
        Quiet("in-the-optimizer", joined(_V100, _OPTIMIZER)),
        Quiet("double", joined(_V100, _DOUBLE)),
        Quiet("no-tf32-kernel-for-the-size", on_gpu(_TF32_SMALL, _SGEMM)),
        Quiet("next-to-no-time", joined(_V100, _SGEMM, launch("aten::relu", "relu 90000us"))),
        Abstains("pascal", joined("# device 0 Tesla P100-SXM2-16GB 6.0", _SGEMM)),
        Abstains("unknown-gpu", joined("# device 0 Some GPU", _SGEMM)),
        Abstains("cpu-run", f"aten::mm | {_FLOAT}"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        unknown = obstacles.nvidia_unknown(trace)
        if unknown is not None:
            return unknown
        if not products.has_tensor_cores(trace):
            return NotApplicable(f"{devices.first_nvidia(trace)} has no Tensor Cores")
        if not len(products.kernels_by_precision(trace)[Precision.OPEN]):
            return None
        untold = trace.time_of(_Found(trace, self.already_lower).untold)
        return _UNTOLD if (trace.step_share(untold) or 0.0) >= self.worth_a_word else None

    def find(self, trace: Trace) -> Matches:
        found = _Found(trace, self.already_lower)
        if not len(found.kernels):
            return
        share = trace.step_share(trace.time_of(found.kernels))
        if share is not None and share < self.worth_a_word:
            return
        is_tf32 = found.is_mostly_tf32()
        kinds = "in TF32" if is_tf32 else "in float32"
        if products.is_float_template(trace, found.kernels).any():
            kinds = "in float32 or TF32"
        in_graphs = found.is_mostly_in_graphs()
        least = self.warning_from_tf32 if is_tf32 else self.warning_from
        yield Match(
            found.events(),
            f"products and convolutions {kinds}{', in CUDA graphs' if in_graphs else ''};"
            f" Tensor Cores are faster in {found.half}{_HOW_MUCH if in_graphs else ''}",
            location=found.place(),
            severity=Severity.INFO if in_graphs else least,
            cost=found.kernels.tolist(),
            edit=found.edit(),
        )

    def fix_of(self, events: Iterable[Event]) -> str:
        first = next(iter(events))
        if products.first_compute(first.trace) < products.FIRST_WITH_BFLOAT16:
            return 'forward under torch.autocast("cuda", torch.float16), torch.amp.GradScaler'
        if products.without_tf32(first.trace):
            return f"TF32 first (TDY501), then {self.fix}"
        return self.fix


class _Found:
    """The kernels that half precision would shorten, of the window if it has any.

    Attributes:
        kernels: their rows.
        precision: of each.
        untold: those of which nothing tells whether they are in float32, if that is most.
    """

    def __init__(self, trace: Trace, already_lower: float) -> None:
        by_precision = products.kernels_by_precision(trace)
        self._trace = trace
        self._work = OpWork(trace)
        self._rates = rates_of(devices.used_devices(trace, "nvidia")[0].name)
        compute = products.first_compute(trace)
        self.half = "bfloat16" if compute >= products.FIRST_WITH_BFLOAT16 else "float16"
        kinds = (Precision.FLOAT32, Precision.TF32, Precision.OPEN)
        parts = [by_precision[each] for each in kinds]
        self.kernels = np.concatenate(parts)
        self.precision = np.repeat(np.array(kinds), [len(rows) for rows in parts])
        lower_ns = trace.duration_ns[by_precision[Precision.LOWER]].sum()
        self._op = self._work.op_of(self.kernels)
        is_open = self.precision == Precision.OPEN
        is_float = self._is_float() | is_open & products.is_float_template(trace, self.kernels)
        # c10::Half, c10::BFloat16, ...
        is_lower = is_open & products.takes_dtype(trace, self.kernels, "c10::")
        in_float = products.takes_dtype(trace, self.kernels, "float")
        untold = is_open & ~is_float & ~in_float & ~is_lower
        spent = trace.duration_ns[self.kernels]
        lower_ns += spent[is_lower].sum()
        chosen = is_float & ~self._in_optimizer() & ~self._falls_back()
        chosen &= lower_ns <= already_lower * (spent[~is_lower].sum() + lower_ns)
        # Those whose precision nothing tells, where they are most of all.
        is_untold = lower_ns == 0 and 2 * spent[untold].sum() > spent.sum()
        self.untold = self.kernels[untold & is_untold]
        chosen &= 2 * spent[untold | is_lower & ~is_float].sum() <= spent.sum()
        inside = trace.in_window(self.kernels)
        if (chosen & inside).any():
            chosen &= inside
        self.kernels, self.precision = self.kernels[chosen], self.precision[chosen]
        self._op = self._op[chosen]
        graph = launches.calls_of(trace, *graphs.GRAPH_LAUNCHES)
        self._in_graph = np.isin(trace.caller[self.kernels], graph)
        # On Tensor Cores float32 is TF32, whatever the kernel's name.
        self.precision[self.precision == Precision.OPEN] = Precision.TF32

    def _is_float(self) -> NDArray[np.bool_]:
        """By the inputs of the op where they are recorded; else by the kernel's name."""
        dtypes = np.array([*self._work.dtypes, ""], object)[self._op]
        by_name = (dtypes == "") & (self.precision != Precision.OPEN)
        return np.asarray((dtypes == "float") | by_name, bool)

    def _falls_back(self) -> NDArray[np.bool_]:
        """Find, where TF32 is on, products of sizes that Tensor Cores have no kernel for."""
        ids, which = np.unique(self._trace.name_id[self.kernels], return_inverse=True)
        names = [self._trace.names[each] for each in ids.tolist()]
        of_matrices = np.array([_GEMM.search(name) is not None for name in names], bool)[which]
        is_on = bool((of_matrices & (self.precision == Precision.TF32)).any())
        return np.asarray(of_matrices & (self.precision == Precision.FLOAT32) & is_on, bool)

    def is_mostly_tf32(self) -> bool:
        """Tell whether most of the time is on Tensor Cores already."""
        spent_ns = self._trace.duration_ns[self.kernels]
        return bool(2 * spent_ns[self.precision == Precision.TF32].sum() > spent_ns.sum())

    def is_mostly_in_graphs(self) -> bool:
        """Tell whether graphs launch most of them, so that sizes and casts are not known."""
        spent_ns = self._trace.duration_ns[self.kernels]
        return bool(2 * spent_ns[self._in_graph].sum() > spent_ns.sum())

    def _in_optimizer(self) -> NDArray[np.bool_]:
        trace = self._trace
        steps = trace.rows_named("Optimizer.step#*")
        calls = trace.caller[self.kernels].astype(np.int64)
        launched = np.where(calls >= 0, trace.start_ns[np.maximum(calls, 0)], -1)
        return trace.time_of(steps[steps < trace.tree_count]).contains(launched)

    def events(self) -> Events:
        """Return the ops that launched them, once each; the kernels themselves where that is
        unknown.
        """
        ops = self._trace.launching_ops(self.kernels)
        return self._trace.events(np.unique(np.where(ops >= 0, ops, self.kernels)))

    def place(self) -> Location | None:
        """Return the line with most of the time."""
        if not self._trace.user_places:
            return None
        spent = Counter[Location | None]()
        for kernel in self._trace.events(self.kernels):
            spent[kernel.location] += kernel.duration_ns
        del spent[None]
        return max(spent, key=lambda each: spent[each], default=None)

    def edit(self) -> Edit:
        """Tell what the rates of the device leave of each kernel, all together."""
        spent_ns = self._trace.duration_ns[self.kernels].astype(np.float64)
        best, worst = self._left(spent_ns)
        faster = products.without_tf32(self._trace)
        after_tf32 = np.isin(self.kernels, edits.work_of(self._trace, faster))
        # TF32 comes first where it is one line: half precision saves what it adds to that.
        ratio = self._ratio(Precision.FLOAT32) / self._ratio(Precision.TF32)
        tf32 = np.minimum(np.array([[1.0], [2.0]]) / ratio, 1.0)
        best = np.where(after_tf32, 1 - np.maximum(tf32[1] - best, 0), best)
        worst = np.where(after_tf32, 1 - np.maximum(tf32[0] - worst, 0), worst)
        whole = max(float(spent_ns.sum()), 1.0)
        left = float((best * spent_ns).sum()) / whole, float((worst * spent_ns).sum()) / whole
        return Edit(f"the products in {self.half}", work=self.kernels.tolist(), left=left)

    def _left(self, spent_ns: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Tell what is left of each kernel, at best and at worst."""
        ratio, at_worst = np.ones(len(self.kernels)), np.ones(len(self.kernels))
        for each in (Precision.FLOAT32, Precision.TF32):
            own = self.precision == each
            ratio[own], at_worst[own] = self._ratio(each), _AT_WORST[each]
        floor = self._floor_ns(spent_ns) / np.maximum(spent_ns, 1)
        best = np.clip(np.maximum(1 / ratio, _ABOVE_FLOOR[0] * floor), 0, 1)
        worst = np.clip(np.maximum(at_worst, _ABOVE_FLOOR[1] * floor), best, 1)
        worst[self._in_graph] = 1.0  # products of unknown sizes may gain nothing
        return best, worst

    def _floor_ns(self, spent_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """The time that no kernel in half precision can be shorter than."""
        floor = np.full(len(self.kernels), float(_SHORTEST_NS))
        rates = self._rates
        peak = rates and rates.peak(self.half, True)
        known = np.flatnonzero(self._op >= 0)
        if not rates or not peak or not len(known):
            return floor
        trace, op = self._trace, self._op[known]
        needs, used = np.zeros(len(self._work.rows)), np.unique(op)
        inputs, which = np.unique(trace.inputs_id[self._work.rows[used]], return_inverse=True)
        moves_s = np.zeros(len(inputs))
        for at, inputs_id in enumerate(inputs.tolist()):
            dims = [d for d in trace.inputs.shapes(inputs_id) if is_dims(d) and len(d) > 1]
            moves_s[at] = 2 * sum(map(math.prod, dims)) / rates.nbytes_per_s
        needs[used] = np.maximum(self._work.flops[used] / peak, moves_s[which]) * 1e9
        # The kernels of one op share what it needs.
        of_op = np.bincount(op, spent_ns[known], len(needs))
        own = needs[op] * spent_ns[known] / np.maximum(of_op[op], 1)
        floor[known] = np.maximum(floor[known], own)
        return floor

    def _ratio(self, precision: Precision) -> float:
        """Tell how many times the rate of a precision is that of half precision."""
        rates = self._rates
        if rates is None:
            return _RATIO_UNKNOWN[precision]
        half = rates.peak(self.half, True)
        own = rates.peak(*(("tf32", True) if precision == Precision.TF32 else ("float32", False)))
        return half / own if half and own else _RATIO_UNKNOWN[precision]
