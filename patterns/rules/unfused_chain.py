"""TDY403: elementwise operators that run one by one over the same elements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tidy.savings import Edit
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern
from ..evidence import places, timing
from ..evidence.chains import Chain, chains
from ..examples import AT, FRAME, WORK, Abstains, Fires, Quiet, joined, launch, on_gpu, steps, under
from ..match import Match
from ..option import Option, warning_share, word_share

# In a compiled region what can be fused is.
_COMPILED = re.compile(r"Torch-Compiled|Compiled(Fx|Function)|triton")
_MOST_NAMES = 6
_MEANS, _ROOTS = {"mean", "var"}, {"rsqrt", "sqrt"}
_GIGA = 1e9

_T = "float[64, 1024, 64]"
_ROW = "float[64, 1024, 1]"


def _op(name: str, *inputs: str, takes_us: int = 90) -> str:
    return launch(f"aten::{name} | {', '.join(inputs)}", f"elementwise_kernel {takes_us}us")


_GELU = joined(
    _op("pow", _T, "=3"), _op("mul", _T, "double[]"), _op("add", _T, _T), _op("tanh", _T)
)
_MEAN = launch(f"aten::mean | {_T}, =[-1]", "reduce_kernel 90us")
_NORM = joined(
    _op("pow", _T, "=2"), _MEAN, _op("add", _ROW, "double[]"), _op("rsqrt", _ROW),
    _op("mul", _T, _ROW), _op("mul", "float[64]", _T),
)  # fmt: skip
_SMALL = "float[64, 64]"
_SHORT = joined(_op("mul", _SMALL, _SMALL), _op("add", _SMALL, _SMALL), _op("tanh", _SMALL))
_PRODUCT = launch("aten::mm | float[64, 64], float[64, 64]", "sgemm 90us")
_PARTED = joined(_op("mul", _T, _T), _PRODUCT, _op("add", _T, _T), _PRODUCT, _op("tanh", _T))
_UPDATES = joined(*[_op("mul", _T, "double[]") + _op("sub", _T, _T)] * 4)
_GRADIENTS = joined(*[_op("add_", _T, _T)] * 4)


class UnfusedChain(DevicePattern):
    """Elementwise operators run one by one over the same elements, which are read again each time.

    What it does: It finds three or more elementwise operators that follow each other over tensors
    of the same dims, of 65,536 elements or more, with nothing between them but what works on a part
    of them (means, roots, joins), and counts their bytes. Operators of an optimizer, in compiled
    regions, and in place on what may be other tensors are left alone; so are rounds of one or two,
    such as updates of one parameter after the other, and what takes less than 1 % of the time.
    Why it costs: Each of them reads its inputs from memory and writes its result there. One kernel
    reads the first input and writes the last result.
    Example: `0.5 * x * (1 + torch.tanh(0.8 * (x + 0.045 * x**3)))`, recorded as

        aten::pow, aten::mul, aten::add, aten::mul, aten::tanh, ...    Input Dims alike
          => an elementwise kernel each

    Instead: Put `torch.compile` on the function. Where PyTorch has the whole, call it: `F.gelu`,
    `F.layer_norm`, `F.rms_norm`.
    Cannot see: The trace has dims and no tensors: operators over tensors of the same dims that have
    nothing to do with each other look alike (they could share a kernel, and save less). What
    autograd keeps for the backward is written in any case: at worst half of the saving is left.
    """

    code = "TDY403"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    fix = "torch.compile, or the whole as one call (F.gelu, F.layer_norm, F.rms_norm)"
    fewest_elements = Option(
        1 << 16, "fewer elements take the time of a launch, however many bytes they have", least=1
    )
    fewest_ops = Option(3, "two operators one after the other are as often none to fuse", least=2)
    worth_a_word = word_share(0.01, "a chain")
    warning_from = warning_share(timing.WORTH_A_WARNING)
    examples = (
        Fires("gelu", on_gpu(_GELU, frame=FRAME), at=AT),
        Fires("normalisation", on_gpu(_NORM, frame=FRAME), at=AT),
        Quiet("small", on_gpu(_SHORT)),
        Quiet("products-between", on_gpu(_PARTED)),
        Quiet("one-parameter-after-the-other", on_gpu(_UPDATES)),
        Quiet("gradients-in-place", on_gpu(_GRADIENTS)),
        Quiet("in-the-optimizer", on_gpu(under("Optimizer.step#SGD.step", _GELU))),
        Quiet("compiled", on_gpu(under("Torch-Compiled Region: 0/0", _GELU))),
        Quiet("little-before-the-steps", on_gpu(_GELU, steps(WORK, lasts_us=90_000))),
        Quiet("next-to-no-time", on_gpu(_GELU, _op("erfinv", _T, takes_us=90_000))),
        Abstains("no-shapes", on_gpu(launch("aten::mul", "elementwise_kernel 90us"))),
        Abstains("cpu-run", f"aten::mul | {_T}, {_T}"),
    )

    def find(self, trace: Trace) -> Iterable[Match]:
        def first(chain: Chain) -> Event:
            return trace.event(chain.ops[0])

        found = chains(trace, self.fewest_elements, self.fewest_ops)
        for part in places.parts(found, lambda chain: (first(chain).location, chain.names), first):
            rows = [row for chain in part for row in chain.kernels]
            little = timing.part_of_window(trace, trace.time_of(rows)) < self.worth_a_word
            if little or _is_compiled(first(part[0])):
                continue
            yield Match(
                list(map(first, part)),
                message=_message(part),
                severity=self.warning_from,
                cost=rows,
                edit=_fused(part, rows),
            )


def _is_compiled(op: Event) -> bool:
    return any(_COMPILED.search(above.name) for above in op.ancestors())


def _message(part: list[Chain]) -> str:
    chain = part[0]
    names = [name for name, _ in Counter(chain.names).most_common()]
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    by_hand = _MEANS & set(names) and _ROOTS & set(names)
    what = "a normalisation by hand" if by_hand else f"{len(chain.names)} operators one by one"
    sizes = "x".join(map(str, chain.dims))
    moved, needed = (sum(getattr(each, k) for each in part) for k in ("nbytes", "fused_nbytes"))
    return (
        f"{what} ({shown}) over {sizes}: {moved / _GIGA:.2g} GB where {needed / _GIGA:.2g} would do"
    )


def _fused(part: list[Chain], rows: list[int]) -> Edit:
    """Less to read and write; half of the saving where the backward needs what is between."""
    best = sum(each.fused_nbytes for each in part) / max(sum(each.nbytes for each in part), 1)
    best = min(best, 1.0)
    return Edit("one kernel for all", work=rows, left=(best, (1 + best) / 2))
