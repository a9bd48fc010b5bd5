"""How near the modelled device comes to recorded ones.

    PYTHONPATH=. python benchmarks/bench_modelled.py trace.json.gz ...

For every operator in a trace whose kernels multiply matrices, and for elementwise operators, norms
and copies, the time of its kernels as recorded stands beside the time that `plan` predicts from the
recorded shapes and dtypes. TF32 counts as allowed where a recorded kernel shows it. An operator
whose output size is not recorded (a forward convolution without "Concrete Inputs" and without its
backward) is left out, and counted.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tidy
from tidy.errors import TidyError
from tidy.runtime.modelled.cost import Operand, copy_ns, memset_ns, plan
from tidy.runtime.modelled.specs import DeviceSpec, find_spec
from tidy.trace import Event, EventKind, Trace

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
    "unsigned char": "uint8",
}
_DEVICES = ("V100", "T4", "A100", "H100", "H200")
_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
_FORWARD = ("aten::cudnn_convolution", "aten::convolution")
_BACKWARD = (
    "aten::convolution_backward",
    "aten::cudnn_convolution_backward_input",
    "aten::cudnn_convolution_backward_weight",
)
_ELEMENTWISE = [
    f"aten::{name}"
    for name in "add add_ sub sub_ mul mul_ div div_ neg relu relu_ clamp_min clamp_min_ gelu silu "
    "pow rsqrt sqrt threshold_backward native_layer_norm cudnn_batch_norm "
    "cudnn_batch_norm_backward copy_ fill_ embedding index_select masked_fill_".split()
]
_TF32 = re.compile("tf32|s1688", re.IGNORECASE)
_COPY = re.compile(r"Memcpy (HtoD|DtoH) \((?:Device -> )?(Pageable|Pinned)|Memcpy (DtoD|PtoP)")
Shape = tuple[int, ...]
Outputs = Callable[[list[Operand], Event], "list[Operand] | None"]


@dataclass
class Pair:
    """One operator with certain inputs: how often, and what its kernels took."""

    op: str
    given: tuple[Operand, ...] = ()
    count: int = 0
    recorded_ns: int = 0
    predicted_ns: int = 0

    def add(self, recorded_ns: int, predicted_ns: int) -> None:
        self.count += 1
        self.recorded_ns += recorded_ns
        self.predicted_ns += predicted_ns

    @property
    def ratio(self) -> float:
        return self.predicted_ns / max(1, self.recorded_ns)


class Comparison:
    """All operators of one kind in a trace, the worst prediction first."""

    def __init__(self, pairs: Iterable[Pair], left_out: int = 0) -> None:
        self.pairs = sorted(pairs, key=lambda pair: -abs(pair.predicted_ns - pair.recorded_ns))
        self.left_out = left_out
        self.recorded_ns = sum(pair.recorded_ns for pair in self.pairs)
        self.predicted_ns = sum(pair.predicted_ns for pair in self.pairs)
        # Predicted by recorded time, of all together.
        self.ratio = self.predicted_ns / max(1, self.recorded_ns)
        # The part of the recorded time whose operators are predicted within a factor of two.
        near = sum(pair.recorded_ns for pair in self.pairs if 0.5 <= pair.ratio <= 2)
        self.within = near / max(1, self.recorded_ns)


def spec_of(trace: Trace) -> DeviceSpec | None:
    """The modelled device that a trace was recorded on; None where it is none of them."""
    names = [trace.devices[index].name or "" for index in trace.devices_used]
    known = [part for name in names for part in _DEVICES if part in name]
    return find_spec(known[0]) if known else None


def _in_order(shape: Shape, strides: Any) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def operands(event: Event) -> list[Operand]:
    """The tensors among an operator's inputs; of lists no dtype is recorded."""
    strides = event.input_strides or (None,) * len(event.input_shapes)
    return [
        Operand(tuple(shape), _DTYPES[kind], _in_order(tuple(shape), stride))
        for shape, kind, stride in zip(
            event.input_shapes, event.input_dtypes, strides, strict=False
        )
        if kind in _DTYPES
    ]


def _product_output(given: list[Operand], _: Event) -> list[Operand] | None:
    a, b = given[-2:]
    return [Operand((*a.shape[:-1], b.shape[-1]), a.dtype)]


class Convolutions:
    """Output sizes of forward convolutions: from "Concrete Inputs", or from their backwards."""

    def __init__(self, trace: Trace) -> None:
        self.known: dict[tuple[Shape, Shape], Shape] = {}
        for event in trace.named("aten::cudnn_convolution_backward", "aten::convolution_backward"):
            shapes = [each.shape for each in operands(event)]
            if len(shapes) > 2:
                x, grad, weight = shapes[:3]
                if event.name == "aten::convolution_backward":
                    grad, x = x, grad
                self.known[x, weight] = grad

    def forward(self, given: list[Operand], event: Event) -> list[Operand] | None:
        x, weight = given[:2]
        lists = [
            [int(n) for n in re.findall(r"-?\d+", text)]
            for text in event.concrete_inputs
            if text.startswith("[")
        ]
        if len(lists) >= 3:
            first, second, dilation = lists[:3]
            in_order = event.name == "aten::convolution"
            stride, padding = (first, second) if in_order else (second, first)
            each = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
            size = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each)
            return [Operand((x.shape[0], weight.shape[0], *size), x.dtype)]
        shape = self.known.get((x.shape, weight.shape))
        return None if shape is None else [Operand(shape, x.dtype)]

    def backward(self, given: list[Operand], event: Event) -> list[Operand] | None:
        if len(given) > 2:  # which gradients are wanted: of the input, the weight and the bias
            wanted = re.findall("True|False", (event.concrete_inputs or [""])[-1])
            both = zip(given[1:3], wanted or ("True", "True"), strict=False)
            return [each for each, word in both if word == "True"]
        both = operands(event.parent) if event.parent is not None else []
        if len(both) < 3:
            return None
        return [both[0] if event.name.endswith("_input") else both[2]]


def _elementwise_output(given: list[Operand], event: Event) -> list[Operand] | None:
    name = event.name.rpartition("::")[2]
    if name == "cudnn_batch_norm" and event.concrete_inputs[5:6] == ("False",):
        return None  # in evaluation tidy.runtime has elementwise operators
    if name.endswith("_") or name in ("native_layer_norm", "cudnn_batch_norm"):
        return [given[0]]
    if name == "cudnn_batch_norm_backward":
        return [max(given, key=lambda each: math.prod(each.shape))]
    if name in ("embedding", "index_select"):
        return [Operand((*given[1].shape, given[0].shape[-1]), given[0].dtype)]
    dtype = max(given, key=lambda each: len(each.shape)).dtype
    return [Operand(np.broadcast_shapes(*[each.shape for each in given]), dtype)]


def _compare(trace: Trace, spec: DeviceSpec, outputs: dict[str, Outputs]) -> Comparison:
    """Operators of these names with kernels, the innermost of nested ones."""
    left_out, pairs = 0, dict[Any, Pair]()
    for event in trace.named(*outputs):
        kernels = [work for work in event.kernels if work.kind == EventKind.Kernel]
        if not kernels or any(x.name in outputs and x.kernels for x in event.descendants()):
            continue
        given = operands(event)
        if event.name == "aten::clamp_min":  # its second one is where the result goes
            given = given[:1]
        made = outputs[event.name](given, event) if given else None
        if made is None:
            left_out += 1
            continue
        tf32 = any(_TF32.search(work.name) for work in kernels)
        plans = plan(event.name, given, made, spec, matmul_tf32=tf32, cudnn_tf32=tf32)
        pair = pairs.setdefault((event.name, *given), Pair(event.name, tuple(given)))
        pair.add(sum(work.duration_ns for work in kernels), sum(each.duration_ns for each in plans))
    return Comparison(pairs.values(), left_out)


def compare_products(trace: Trace, spec: DeviceSpec) -> Comparison:
    """Matrix products and convolutions, forward and backward."""
    sizes = Convolutions(trace)
    outputs: dict[str, Outputs] = dict.fromkeys(_PRODUCTS, _product_output)
    outputs |= dict.fromkeys(_FORWARD, sizes.forward) | dict.fromkeys(_BACKWARD, sizes.backward)
    return _compare(trace, spec, outputs)


def compare_elementwise(trace: Trace, spec: DeviceSpec) -> Comparison:
    """Elementwise operators, norms, concatenation, copies by kernels."""
    return _compare(trace, spec, dict.fromkeys(_ELEMENTWISE, _elementwise_output))


def compare_copies(trace: Trace, spec: DeviceSpec) -> Comparison:
    """Copies and fills by the copy engines."""
    pairs = dict[str, Pair]()
    for work in trace.of_kind(EventKind.Memcpy, EventKind.Memset):
        match = _COPY.match(work.name)
        if match:
            one, kind, other = match.groups()
            predicted = copy_ns(work.nbytes, other or f"{one} {kind.lower()}", spec)
        elif work.kind == EventKind.Memset:
            predicted = memset_ns(work.nbytes, spec)
        else:
            continue
        pairs.setdefault(work.name, Pair(work.name)).add(work.duration_ns, predicted)
    return Comparison(pairs.values())


def _write(title: str, compared: Comparison, worst: int) -> None:
    if not compared.pairs:
        print(f"  {title}: none with shapes ({compared.left_out} left out)")
        return
    print(
        f"  {title}: recorded {compared.recorded_ns / 1e6:.3f} ms, predicted "
        f"{compared.predicted_ns / 1e6:.3f} ms, ratio {compared.ratio:.2f}, within a factor of two "
        f"{compared.within:.0%} of the time, {compared.left_out} left out"
    )
    for pair in compared.pairs[:worst]:
        shapes = " ".join("x".join(map(str, x.shape)) or "scalar" for x in pair.given)
        dtype = pair.given[0].dtype if pair.given else ""
        print(
            f"    {pair.count:4d} x {pair.op} {dtype} {shapes[:80]}: "
            f"{pair.recorded_ns / pair.count / 1e3:.1f} us, "
            f"predicted {pair.predicted_ns / pair.count / 1e3:.1f} us ({pair.ratio:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--worst", type=int, default=5, help="how many shapes to show of each")
    args = parser.parse_args()
    for path in args.traces:
        try:
            trace = tidy.load(path)
        except TidyError as error:
            parser.error(str(error))
        spec = spec_of(trace)
        if spec is None:
            print(f"{path}: no modelled device")
            continue
        print(f"{path}: {spec.name}")
        _write("products", compare_products(trace, spec), args.worst)
        _write("elementwise", compare_elementwise(trace, spec), args.worst)
        _write("copies", compare_copies(trace, spec), args.worst)


if __name__ == "__main__":
    main()
