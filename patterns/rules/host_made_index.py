"""TDY206: indexes and masks that are made on the CPU and copied to the GPU for each lookup."""

from __future__ import annotations

from operator import attrgetter

from tidy.finding import Obstacle
from tidy.trace import Capability, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, obstacles
from ..evidence.device.lookups import lookups
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..examples import AT, Abstains, Fires, Quiet, copy, launch, looped, on_gpu, steps, under
from ..option import WORTH_A_WARNING, Option, warning_share

_UP = "HtoD (Pageable -> Device) 3us 512B"
_TO = "aten::to | {0} > aten::_to_copy | {0} > aten::copy_ | {0}, {0}, =False"
_INDEX = "aten::index | float[999, 8], long int[64]"
_ON_THE_CPU = under(_INDEX, copy(_UP, op=_TO.format("long int[64]"), wait_us=5))
_UPLOADED = copy(_UP, op=_TO.format("long int[64]"), wait_us=5)
_LOOKED_UP = launch(_INDEX, "index_kernel 9us")
_SORTED, _MODEL = "aten::argsort | float[64]", launch("aten::mm", "gemm 9us")
_GATHERED = launch("aten::gather | float[999, 64], Scalar, long int[64]", "gather_kernel 9us")
_ARANGE = "aten::arange | =64"
_BATCH = launch("aten::embedding | float[999, 8], long int[64]", "gather_kernel 9us")


class HostMadeIndex(DevicePattern):
    """A tensor on the GPU is indexed with one on the CPU, which is copied over for each lookup.

    What it does: It finds lookups (`x[index]`, `x[mask] = v`, `index_select`, `gather`) whose index
    or mask comes from the CPU: the op copies it itself, or the op right before does, in each step
    or round. For `gather`, `masked_fill` and the like an op has to have made it on the CPU right
    before.
    Why it costs: The copy is from pageable memory, and the host waits for it before it can launch
    the lookup. The same waits come with each round of a loop.
    Example: `rows = table[torch.from_numpy(chosen)]` with `table` on the GPU, recorded as

        aten::index
          aten::to
            aten::copy_
              cudaMemcpyAsync => Memcpy HtoD (Pageable -> Device)
              cudaStreamSynchronize

    Instead: Make the index on the GPU (`torch.randint(..., device="cuda")`, a comparison there), or
    make all of them before the loop and copy them once.
    Cannot see: Labels and paddings that no operator made may have come with the batch, and are left
    alone, as are indexes that are copied early in the step. Tensors filled by one op
    (`torch.arange`) are TDY201, single numbers TDY304.
    """

    code = "TDY206"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "make the index on the GPU (device=...), or copy all once, before the loop"
    least_nbytes = Option(64, "smaller ones that Python makes are numbers, of which TDY304 tells")
    warning_from = warning_share(WORTH_A_WARNING)
    examples = (
        Fires("by-the-op", looped(_ON_THE_CPU, lasts_us=100), events=2, at=AT),
        Fires("right-before", looped(_UPLOADED, _LOOKED_UP, lasts_us=100), 2, AT),
        Fires("made-right-before", looped(_SORTED, _UPLOADED, _GATHERED, lasts_us=100), 2, AT),
        Quiet("on-the-gpu", on_gpu(steps(_LOOKED_UP, count=3))),
        Quiet("labels-of-a-batch", on_gpu(steps(_MODEL, _UPLOADED, _GATHERED, count=2))),
        Quiet("arange", on_gpu(steps(_ARANGE, _UPLOADED, _LOOKED_UP, count=2))),
        Quiet("words-of-a-batch", on_gpu(steps(_UPLOADED, _BATCH, count=2))),
        Quiet("once", on_gpu(_ON_THE_CPU, _LOOKED_UP)),
        Abstains("no-shapes", on_gpu(copy(_UP, op="aten::to"), "aten::index")),
        Abstains("cpu-run", _INDEX),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        known = Capability.SHAPES in trace.capabilities or not len(copies.unpinned(trace))
        return None if known else obstacles.not_recorded(trace, Capability.SHAPES)

    def find(self, trace: Trace) -> Matches:
        found = lookups(trace, self.least_nbytes)
        for same in loops.Loop(trace).parts(found, attrgetter("lookup")):
            what = "mask" if same[0].is_mask else "index"
            uploads = [each.upload for each in same]
            yield Match(
                [each.lookup for each in same],
                message=f"the {what} is made on the CPU and copied to the GPU for each lookup",
                cost=[upload.row for upload in uploads],
                edit=edits.without_ops(trace, uploads, "the index is there already", edits.REMOVED),
            )
