"""Long traces full of what the rules look for: many siblings under one parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import dedent, indent

from tidy.patterns.examples import Fires
from tidy.trace import Trace
from tidy.trace.outline import parse_outline

from .rules import OWN_RULES

_HEADER = "# device 0 NVIDIA A100 8.0\n"
_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n  aten::select\n"
_SELECT = "aten::select | float[9], =0, ={i}\naten::fill_\n"
_COPY = """\
aten::ones
  aten::fill_ | float[8], =1
aten::to | float[8]
  aten::_to_copy | float[8]
    aten::copy_ | float[8], float[8], =False
      cudaMemcpyAsync
        => Memcpy HtoD (Pageable -> Device) 1us 32B
"""
_PRODUCT = """\
aten::mm | {dtype}[64, {k}], {dtype}[{k}, 64]
  cudaLaunchKernel
    => ampere_sgemm_64x64_nn
"""
_NORM = """\
aten::conv2d | float[16, 1, 4, 4], float[4, 1, 3, 3], float[4]
aten::add_ | long int[], =1, =1
{norm} | float[16, 4, 4, 4], float[4], float[4], float[4], float[4], =True
"""
_ZERO = """\
Optimizer.zero_grad#SGD.zero_grad
  aten::zero_
torch/optim/optimizer.py(9): zero_grad
  aten::zero_
"""

_GROWN = """\
ProfilerStep#{step} 90us
  aten::sum | float[{size}]
  Optimizer.step#SGD.step 9us
"""

Round = Callable[[int], str]

# One round of siblings, by its number. What an example of the rule does not bring.
_MIXES: dict[str, Round] = {
    "TDY000": lambda i: f"aten::op{i}\n",
    "TDY101": lambda _: _FETCH,
    "TDY201": lambda _: _COPY,
    "TDY404": lambda i: _SELECT.format(i=i) + "aten::relu\n" * (i % 30 == 0),
    "TDY412": lambda i: _GROWN.format(step=i, size=64 * i + 64),
    "TDY501": lambda _: _PRODUCT.format(dtype="float", k=64),
    "TDY503": lambda i: _PRODUCT.format(dtype="c10::Half", k=63 + i % 2),
    "TDY601": lambda _: "Optimizer.step#SGD.step\n" + "  aten::add_\n" * 5,
    "TDY603": lambda _: _ZERO,
    "TDY701": lambda i: _NORM.format(norm="aten::batch_norm" if i % 2 else "aten::relu"),
}  # fmt: skip


# Examples that are another thing when they are repeated under one frame.
_ONCE = {
    "TDY003-one-slow-launch": "the first launch of a kernel, and many later ones",
    "TDY003-mostly-left-out": "the same",
    "TDY004-one": "many steps",
    "TDY004-by-tidy-run": "the same",
    "TDY403-gelu": "one chain, longer than any that is looked for",
    "TDY403-normalisation": "one chain, too",
    "TDY412-a-list": "sizes that begin anew",
    "TDY804-each-step-stays": "memory that is taken at the same addresses",
    "TDY804-no-gradients": "such memory, too",
    "TDY804-little": "such memory, too",
    "TDY804-autocast-hands-on": "such memory, too",
}


def _from_example(outline: str) -> tuple[str, Round]:
    lines = dedent(outline).strip("\n").split("\n")
    header = "".join(line + "\n" for line in lines if line.startswith("# "))
    body = "".join(line + "\n" for line in lines if not line.startswith("# "))
    return header, lambda _: body


def mixes() -> Iterator[tuple[str, str, str, Round]]:
    """(name, code of the rule, header, one round) for each mix and each example that fires."""
    for rule in OWN_RULES:
        if rule.code in _MIXES:
            yield f"{rule.code}-siblings", rule.code, _HEADER, _MIXES[rule.code]
        for example in rule.examples:
            if isinstance(example, Fires) and f"{rule.code}-{example.name}" not in _ONCE:
                yield f"{rule.code}-{example.name}", rule.code, *_from_example(example.outline)


def many(header: str, one_round: Round, rounds: int) -> Trace:
    """All rounds under one frame."""
    body = "".join(one_round(i) for i in range(rounds))
    return parse_outline(header + "main.py(1): main\n" + indent(body, "  "))
