"""TDY503: half-precision matrix products whose sizes Tensor Cores cannot tile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tidy.finding import Severity
from tidy.trace import Capability, Event

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import used_devices

# Position of the first matrix among the inputs.
_MATRIX = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
# Products of attention: their sizes are sequence lengths, which no one can pad at will.
_BATCHED = frozenset({"aten::bmm", "aten::baddbmm"})
_HALF = {"c10::Half": "float16", "c10::BFloat16": "bfloat16", "Half": "float16"}
_MULTIPLE = 8


class MisalignedHalfMatmul(Pattern):
    """A float16 or bfloat16 matrix product has a size that is no multiple of 8.

        aten::mm, aten::bmm, aten::addmm, aten::baddbmm
          Input type c10::Half or c10::BFloat16, one of the last two dims not a multiple of 8

    Cost: Tensor Cores work on tiles of 8 elements (16 bytes). With other sizes cuBLAS takes slower
    kernels, pads, or before cuBLAS 11 leaves the Tensor Cores out.
    Instead: pad the inner and the output size (vocabulary, hidden size) to a multiple of 8, better
    of 64. Where only the rows are odd (batch times sequence), or the product is batched
    (attention), it is said as info, as it is on a CPU, on AMD and for bfloat16 before compute
    capability 8.0.
    Misses: sizes that are aligned but too small to fill a GPU; float8, which wants multiples of 16.
    """

    code = "TDY503"
    needs = frozenset({Capability.OPS, Capability.SHAPES})
    triggers = frozenset(_MATRIX)
    fix = "pad the sizes to a multiple of 8 (of 64 for the vocabulary)"
    examples = (
        Fires(
            "inner-size",
            """
            # device 0 NVIDIA A100 8.0
            train.py(4): train
              aten::mm | c10::BFloat16[64, 63], c10::BFloat16[63, 64]
                cudaLaunchKernel
                  => gemm 9us
            """,
            at="train.py:4",
        ),
        Fires(
            "rows-only",
            """
            # device 0 NVIDIA H100 9.0
            aten::addmm | c10::BFloat16[512], c10::BFloat16[141, 512], c10::BFloat16[512, 512]
              cudaLaunchKernel
                => gemm 9us
            """,
            severity=Severity.INFO,
        ),
        Fires(
            "cpu",
            "aten::mm | c10::Half[64, 63], c10::Half[63, 64]",
            severity=Severity.INFO,
        ),
        Quiet("aligned", "aten::mm | c10::BFloat16[64, 64], c10::BFloat16[64, 64]"),
        Quiet("single-precision", "aten::mm | float[63, 65], float[65, 63]"),
        Abstains("no-shapes", "aten::mm"),
    )

    def match(self, event: Event) -> bool:
        dtypes = event.input_dtypes
        if not dtypes or dtypes[0] not in _HALF:
            return False
        return any(size % _MULTIPLE for shape in event.input_shapes for size in _sizes(shape))

    def cost_rows(self, event: Event) -> Iterable[int]:
        work: list[int] = event.trace.device_rows_under(event.row).tolist()
        return work or super().cost_rows(event)

    def severity_of(self, event: Event) -> Severity:
        chosen = event.name not in _BATCHED and _inner_or_output_is_odd(event)
        matters = chosen and _has_tensor_cores(event)
        return Severity.WARNING if matters else Severity.INFO

    def message(self, events: Sequence[Event]) -> str:
        (dtype, sizes), count = Counter(map(_describe, events)).most_common(1)[0]
        others = f" and {len(events) - count} others" if count < len(events) else ""
        return f"{dtype} product {sizes}{others}, no multiples of {_MULTIPLE}"


def _sizes(shape: object) -> tuple[int, ...]:
    """The last two dims of one input; empty for what is no tensor."""
    last = shape[-2:] if isinstance(shape, tuple) else ()
    return last if all(isinstance(size, int) for size in last) else ()


def _matrices(event: Event) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first = _MATRIX[event.name]
    shapes = event.input_shapes[first : first + 2]
    left, right = (_sizes(shape) for shape in shapes) if len(shapes) == 2 else ((), ())
    return left, right


def _inner_or_output_is_odd(event: Event) -> bool:
    """Whether K or N of (M, K) x (K, N) is odd; M is batch times sequence, rarely one's choice."""
    _, right = _matrices(event)
    return any(size % _MULTIPLE for size in right)


def _has_tensor_cores(event: Event) -> bool:
    """Whether the GPUs of the run have Tensor Cores for the dtype of `event`."""
    first = (8, 0) if _HALF[event.input_dtypes[0]] == "bfloat16" else (7, 0)
    devices = used_devices(event.trace)
    return any(d.vendor == "nvidia" and (d.compute or (8, 0)) >= first for d in devices)


def _describe(event: Event) -> tuple[str, str]:
    left, right = _matrices(event)
    sizes = " x ".join(str(list(each)) for each in (left, right))
    return _HALF[event.input_dtypes[0]], sizes
