"""Examples inside a rule: small traces in outline form on which it fires or stays quiet.

An outline is text as `tidy.trace.outline` reads it. The functions here write the parts that many
examples share; ` > ` stands between an event and what is in it:

    on_gpu(steps(launch("aten::to > aten::copy_", "gemm 90us"), count=2), frame=FRAME)
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from tidy.finding import Severity

if TYPE_CHECKING:
    from tidy.trace import Trace

GPU = "# device 0 NVIDIA A100 8.0\n"
# A function of the user's, and the location that a rule names for what happens in it.
FRAME, AT = "train.py(7): train", "train.py:7"


@dataclass(frozen=True, slots=True)
class Example:
    """A trace in outline form, under a name of its own."""

    name: str
    outline: str

    def trace(self) -> Trace:
        from tidy.trace.outline import parse_outline  # only those who run examples need it

        return parse_outline(self.outline)


@dataclass(frozen=True, slots=True)
class Fires(Example):
    """The rule finds something here.

    Attributes:
        events: how many events it matches.
        at: the location it names, `train.py:12`; "" for none.
        severity: of the findings, where it differs from the rule's.
    """

    events: int = 1
    at: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Quiet(Example):
    """The rule finds nothing here."""


@dataclass(frozen=True, slots=True)
class Abstains(Example):
    """The rule says that it cannot or need not check this."""


def joined(*parts: str) -> str:
    """Parts one after the other, each without its margin and without empty lines around it."""
    texts = (_without_margin(part).strip("\n") for part in parts)
    return "".join(f"{text}\n" for text in texts if text)


def under(path: str, *parts: str) -> str:
    """Parts below an event (an op, a Python frame, a range) or below the last one of a path."""
    *above, last = path.split(" > ")
    text = f"{last}\n" + _indented(joined(*parts))
    for name in reversed(above):
        text = f"{name}\n" + _indented(text)
    return text


# The rules make some three thousand outlines while they are imported. Most texts come from
# functions of this file, without a margin or empty lines, and need none of `textwrap`'s passes.


def _without_margin(part: str) -> str:
    """Return what `dedent` does, at once if there is no margin and no line of spaces."""
    is_odd = part[:1].isspace() or part[-1:] in " \t" or " \n" in part or "\t\n" in part
    return dedent(part) if is_odd else part


def _indented(text: str) -> str:
    """Return lines that each end with a line break two columns further right."""
    if not text or "\n\n" in text:
        return indent(text, "  ")
    return "  " + text[:-1].replace("\n", "\n  ") + "\n"


def on_gpu(*parts: str, frame: str = "", gpu: str = GPU) -> str:
    """Parts recorded on a machine with an A100, in a Python frame if one is named."""
    return gpu + (under(frame, *parts) if frame else joined(*parts))


def steps(*parts: str, count: int = 3, lasts_us: int | None = 1000) -> str:
    """Steps of the profiler, each with all parts; with None they last as long as their parts."""
    lasts, text = f" {lasts_us}us" if lasts_us else "", _indented(joined(*parts))
    return "".join(f"ProfilerStep#{i}{lasts}\n{text}" for i in range(1, count + 1))


def looped(*parts: str, count: int = 2, lasts_us: int | None = 1000, gpu: str = GPU) -> str:
    """Steps, each with all parts, on a machine with a GPU in the function at `AT`."""
    return on_gpu(steps(*parts, count=count, lasts_us=lasts_us), frame=FRAME, gpu=gpu)


def launch(op: str, *work: str, call: str = "cudaLaunchKernel") -> str:
    """Return an op whose call launches device activity, such as "gemm 90us"."""
    return under(f"{op} > {call}", *(f"=> {each}" for each in work))


WORK = launch("aten::mm", "gemm 90us")
# The next host time and launch; a device that the host has waited for idles until then.
AFTER = "aten::zeros 50us\n" + launch("aten::relu", "relu")


def copy(
    what: str, *, op: str = "aten::copy_", call: str = "cudaMemcpyAsync", wait_us: int = 0
) -> str:
    """Outline an op that copies, such as "HtoD (Pinned -> Device) 20us 256B", and a wait for the
    copy.
    """
    wait = f"cudaStreamSynchronize {wait_us}us" if wait_us else ""
    return under(op, under(call, f"=> Memcpy {what}"), wait)


def to_gpu(
    memory: str,
    nbytes: int,
    shape: str = "64, 1024",
    *,
    non_blocking: bool = False,
    call: str = "cudaMemcpyAsync",
) -> str:
    """`tensor.to("cuda")` from "Pageable" or "Pinned" memory, 20 us on the device."""
    t = f"float[{shape}]"
    return copy(
        f"HtoD ({memory} -> Device) 20us {nbytes}B",
        op=f"aten::to | {t} > aten::_to_copy | {t} > aten::copy_ | {t}, {t}, ={non_blocking}",
        call=call,
        wait_us=0 if non_blocking else 25,
    )
