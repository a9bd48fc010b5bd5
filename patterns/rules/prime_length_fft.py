"""TDY417: FFTs on a GPU whose length has a large prime factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, EventKind, Rows, Trace, rows_of
from tidy.trace.inputs import Inputs, is_dims
from tidy.trace.kept import kept

from ..base import DevicePattern, Match, Matches
from ..evidence.device import launches
from ..evidence.python import places
from ..evidence.python.op_names import aten
from ..examples import AT, Abstains, Fires, Quiet, joined, launch, looped, steps, under
from ..option import EASY_WARNING, warning_share

_KERNELS = ("*bluestein*", "*Bluestein*")
# Kernels of cuFFT and rocFFT that are a part of an FFT, each a pass over its memory.
_IN_PARTS = "*multi*"
_FFTS = aten("_fft_r2c _fft_c2r _fft_c2c")
_TO_REAL = "aten::_fft_c2r"
_PAD = "aten::constant_pad_nd"
_ALONG_ONE = aten("fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft")
# What stays of their kernels. Measured on an H200 with 16,384 for 16,381: 0.09 of an FFT to real
# numbers, 0.11 to 0.13 of one of them, 0.15 of a complex one; two longer FFTs in as many passes
# leave a quarter, and a half where a pass is as short as its launch. One kernel reads and writes as
# often as the kernel of another length.
_LEFT_OF_PARTS, _LEFT_OF_ONE_KERNEL = (0.08, 0.5), (0.2, 0.95)
_FAST_PRIME = 7  # the largest prime factor that cuFFT and rocFFT have kernels for throughout
_DIRECT_PRIME = 127  # the largest that cuFFT ever computes otherwise
_MOST = 1 << 32  # numbers of an FFT: a damaged file may hold any
_MOST_DIGITS = 10

_KERNEL = "multi_bluestein_fft<128u> 400us"
_PADDED = "aten::constant_pad_nd | float[64, 511], =[0, 510], =0\n"
_R2C = "aten::_fft_r2c | float[64, 1021], =[1], =0, =True"
_RFFT = under("aten::fft_rfft | float[64, 511], =1021, =-1", _PADDED, launch(_R2C, _KERNEL))
_RFFT_ALONE = under("aten::fft_rfft | float[64, 1021], =, =-1", launch(_R2C, _KERNEL))
_IRFFT = under(
    "aten::fft_irfft | c10::complex<float>[64, 511], =1021, =-1",
    launch("aten::_fft_c2r | c10::complex<float>[64, 511], =[1], =2, =1021", _KERNEL),
)
_BACKWARD = under(
    "autograd::engine::evaluate_function: FftR2CBackward0",
    under(
        "FftR2CBackward0 seq=4/1",
        launch("aten::_fft_c2c | c10::complex<float>[64, 1021], =[1], =0, =False", _KERNEL),
    ),
)
_FAST = "vector_fft_symm_r2c<1024u> 40us"


class PrimeLengthFft(DevicePattern):
    """FFTs have a length with a large prime factor, which takes several longer FFTs.

    What it does: It finds kernels of Bluestein's algorithm by their names, and tells the length of
    the FFT from the input shapes. Of a length to which zeros were padded in the run, as for a
    convolution, a longer one gives the same result, once it is cut; any other is info.
    Why it costs: The library has fast kernels for the factors 2, 3, 5 and 7. Where a prime factor
    of the length is larger than 127, cuFFT computes two FFTs of twice the length or more, and
    products before and after each. On an H200 FFTs of 16,381 took 7 to 11 times as long as those of
    16,384, and a step with long convolutions 36.9 ms where it took 21.95 ms.
    Example: `torch.fft.rfft(x, n=2 * length - 1)` with a length of 8,191, recorded as

        aten::_fft_r2c (8, 256, 16381)
          => multi_bluestein_fft<...>

    Instead: Pad to the next even length whose prime factors are 2, 3, 5 and 7: for a convolution
    any `n` from the sum of both lengths minus one is long enough, in `rfft` of both and in `irfft`.
    Cannot see: Where the length belongs to the result (a spectrum with these frequencies, a
    circular convolution) it must not be padded, even if zeros were padded to it; the trace does not
    tell. Without input shapes the length is not named. It misses factors up to 127, which cuFFT may
    compute directly, and FFTs on a CPU.
    """

    code = "TDY417"
    needs = frozenset({Capability.DEVICE})
    fix = "pad to a length of factors 2, 3, 5 and 7 alone, if the result allows it"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("padded", looped(_RFFT), events=2, at=AT),
        Fires("forward-and-back", looped(_RFFT, _IRFFT), events=4, at=AT),
        Fires("with-its-backward", looped(_RFFT.replace("=True", "=True seq=4"), _BACKWARD), 4, AT),
        Fires("not-padded", looped(_RFFT_ALONE), events=2, at=AT, severity=Severity.INFO),
        Fires(
            "no-shapes",
            looped(launch("aten::_fft_r2c", _KERNEL)),
            events=2,
            at=AT,
            severity=Severity.INFO,
        ),
        Fires(
            "one-kernel",
            looped(_RFFT.replace("multi_b", "b")),
            events=2,
            at=AT,
        ),
        Quiet("of-1024", looped(_RFFT.replace("1021", "1024").replace(_KERNEL, _FAST))),
        Quiet("factors-to-127", looped(_RFFT.replace("1021", "1016").replace(_KERNEL, _FAST))),
        Quiet("a-range-of-that-name", looped(under("bluestein", launch(_R2C, _FAST)))),
        Abstains("on-the-cpu", steps(joined(_R2C, "aten::mul"))),
    )

    def find(self, trace: Trace) -> Matches:
        kernels = trace.rows_named(*_KERNELS)
        kernels = kernels[trace.kind[kernels] == EventKind.Kernel]
        if not len(kernels):
            return
        launching = trace.launching_ops(kernels)
        has_op = (launching >= 0) & (trace.kind[launching] == EventKind.TorchOp)
        ops, alone = np.unique(launching[has_op]), kernels[~has_op]
        if len(ops):  # what was launched before the recording began has no call
            alone = alone[trace.caller[alone] >= 0]
        for events in places.by_line(trace.events([*ops.tolist(), *alone.tolist()])):
            length, others = _length_and_others(events)
            rows = _work_of(trace, rows_of(events))
            info = None if length in _padded_lengths(trace) else Severity.INFO
            yield Match(
                events,
                _said(length, others),
                rows.tolist(),
                Edit("FFTs of a length without large primes", work=rows, left=_left(trace, rows)),
                info,
                at_most=info,
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        length, _ = _length_and_others(events)
        if not length:
            return self.fix
        good = _next_good_length(length)
        is_padded = length in _padded_lengths(events[0].trace)
        then = "and cut the result" if is_padded else "if the result allows it"
        called = next(filter(None, map(_called, events)), "")
        call = f": torch.fft.{called}(x, n={good})" if called else ""
        return f"pad to {good:,} {then}{call}"


def _length_and_others(events: Sequence[Event]) -> tuple[int, int]:
    """Return the length with a large prime factor that most of these FFTs have, 0 if none is
    known, and how many other such lengths there are.
    """
    counts = Counter(length for each in events for length in _lengths_of(each))
    length = max(counts, key=lambda each: (counts[each], each), default=0)
    return length, max(len(counts) - 1, 0)


def _work_of(trace: Trace, rows: Rows) -> Rows:
    """Return the kernels that FFTs among these rows launch, and kernels of Bluestein's algorithm
    that others launch or that are themselves among them.
    """
    work = trace.device_rows
    launching = trace.launching_ops(work)
    is_fft = launches.has_name(trace, *_FFTS)
    of_an_fft = (launching >= 0) & is_fft[trace.name_id[launching]]
    is_own = of_an_fft | launches.has_name(trace, *_KERNELS)[trace.name_id[work]]
    found: Rows = work[is_own & (np.isin(launching, rows) | np.isin(work, rows))]
    return found


def _left(trace: Trace, rows: Rows) -> tuple[float, float]:
    """Return what stays of kernels at best and at worst, by the time of those that are parts."""
    bluestein = rows[launches.has_name(trace, *_KERNELS)[trace.name_id[rows]]]
    spent = trace.duration_ns[bluestein]
    in_parts = launches.has_name(trace, _IN_PARTS)[trace.name_id[bluestein]]
    share = float(spent[in_parts].sum() / max(int(spent.sum()), 1))
    best, worst = (
        share * of_parts + (1 - share) * of_one
        for of_parts, of_one in zip(_LEFT_OF_PARTS, _LEFT_OF_ONE_KERNEL, strict=True)
    )
    return best, worst


def _called(event: Event) -> str:
    """Return the function of torch.fft for one dimension that calls an op, `rfft`; "" if none."""
    name = launches.outermost_op(event).name
    return name.removeprefix("aten::fft_") if name in _ALONG_ONE else ""


def _lengths_of(event: Event) -> tuple[int, ...]:
    """Return the lengths of an FFT that have a large prime factor; () if they are not known."""
    if event.name not in _FFTS:
        return ()
    inputs_id = int(event.trace.inputs_id[event.row])
    lengths = _lengths(event.trace.inputs, event.name, inputs_id)
    largest = {each: _factors(each)[-1] for each in lengths if 1 < each < _MOST}
    for prime in (_DIRECT_PRIME, _FAST_PRIME):
        if found := tuple(each for each in largest if largest[each] > prime):
            return found
    return ()


def _lengths(inputs: Inputs, name: str, inputs_id: int) -> list[int]:
    """Return the length along each dimension of an FFT. The last one of an FFT to real numbers is
    that of its result, of whose spectrum about a half comes in.
    """
    shapes, values = inputs.shapes(inputs_id), inputs.concrete(inputs_id)
    dims = shapes[0] if shapes else ()
    along = _numbers(values[1]) if len(values) > 1 else []
    if not is_dims(dims) or not all(-len(dims) <= each < len(dims) for each in along):
        return []
    lengths = [int(dims[each]) for each in along]
    if name == _TO_REAL and lengths:
        lengths[-1:] = _numbers(values[3]) if len(values) > 3 else []
    return lengths


def _numbers(value: object) -> list[int]:
    """Return the whole numbers in `[1, 2]` or `16381`; none if anything else is there."""
    texts = str(value).strip("[]").split(",")
    each = [text.strip() for text in texts]
    plain = all(text.removeprefix("-").isdecimal() and len(text) <= _MOST_DIGITS for text in each)
    return list(map(int, each)) if plain else []


@kept
def _padded_lengths(trace: Trace) -> frozenset[int]:
    """Return the sizes that dimensions have after zeros were padded to them, as `rfft(x, n)` does.

    Pads come in pairs, before and after, from the last dimension on.
    """
    found = set[int]()
    for inputs_id in np.unique(trace.inputs_id[launches.tree_rows(trace, _PAD)]).tolist():
        shapes, values = trace.inputs.shapes(inputs_id), trace.inputs.concrete(inputs_id)
        dims = shapes[0] if shapes else ()
        pads = _numbers(values[1]) if len(values) > 1 else []
        if is_dims(dims):
            added = map(sum, zip(pads[::2], pads[1::2], strict=False))
            found.update(
                size + more for size, more in zip(dims[::-1], added, strict=False) if more > 0
            )
    return frozenset(found)


@lru_cache(maxsize=1 << 10)
def _factors(number: int) -> list[int]:
    """Return the prime factors of a number from 2 on, ascending."""
    found, prime = list[int](), 2
    while prime * prime <= number:
        if number % prime:
            prime += 1
        else:
            found.append(prime)
            number //= prime
    return [*found, number]


def _next_good_length(length: int) -> int:
    """Return the least even number from `length` on whose prime factors are 2, 3, 5 and 7."""
    odd = [1]
    for prime in (3, 5, 7):
        odd = [
            each * power
            for each in odd
            for power in takewhile(lambda power: power <= length, _powers(prime))
        ]
    return min(each << max((-(-length // each) - 1).bit_length(), 1) for each in odd)


def _powers(prime: int) -> list[int]:
    return [prime**each for each in range(_MOST.bit_length())]


def _said(length: int, others: int) -> str:
    how = "which are computed by several longer ones (Bluestein's algorithm)"
    if not length:
        return f"FFTs of a length with a large prime factor, {how}"
    factors = _factors(length)
    product = " x ".join(f"{each:,}" for each in factors)
    what = "a prime number" if len(factors) == 1 else product
    more = f" and of {others:,} other length{'s' * (others > 1)}" if others else ""
    return f"FFTs of length {length:,} ({what}){more}, {how}"
