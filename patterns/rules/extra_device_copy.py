"""TDY201: a tensor made on the CPU and moved to the device at once."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tidy.finding import NotApplicable, NotChecked
from tidy.trace import Capability, Event, EventKind, Trace
from tidy.trace.inputs import ITEM_NBYTES

from ..base import Pattern
from ..examples import Abstains, Fires, Quiet
from ..hardware import without_device

_FILLS = frozenset(
    f"aten::{name}"
    for name in (
        "fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ "
        "arange linspace eye randperm tril_indices triu_indices"
    ).split()
)
_IN_PLACE = frozenset(name for name in _FILLS if name.endswith("_"))


class ExtraDeviceCopy(Pattern):
    """A tensor is filled on the CPU and then copied to the GPU, where it could have been filled.

        <built-in method zeros ...>   |   <built-in method to ...>
          aten::zeros                 |     aten::to
            aten::zero_               |       aten::_to_copy
                                      |         aten::copy_
                                      |           cudaMemcpyAsync => Memcpy HtoD

    The copy counts only where the profiler saw it reach a device, and only where the filled tensor
    has the shape of what is copied.

    Cost: filling on the slow side, a copy over the bus and, from pageable memory, a wait.
    Instead: `torch.zeros(shape, device=device)`.
    Misses: data of numpy or Python lists, which has to be copied anyway; fills with work between
    them and the copy.
    """

    code = "TDY201"
    needs = frozenset({Capability.OPS, Capability.SHAPES, Capability.DEVICE})
    triggers = frozenset({"aten::to"})
    fix = "create the tensor where it is used: torch.zeros(..., device=device)"
    examples = (
        Fires(
            "zeros-to",
            """
            # device 0 NVIDIA A100 8.0
            train.py(7): train
              <built-in method zeros of type object>
                aten::zeros
                  aten::zero_ | float[64, 4]
              <built-in method to of Tensor object>
                aten::to | float[64, 4]
                  aten::_to_copy | float[64, 4]
                    aten::empty_strided
                    aten::copy_ | float[64, 4], float[64, 4], =False
                      cudaMemcpyAsync
                        => Memcpy HtoD (Pageable -> Device) 3us 1024B
            """,
            at="train.py:7",
        ),
        Fires(
            "without-stacks",
            """
            # device 0 NVIDIA A100 8.0
            aten::ones
              aten::empty
              aten::fill_ | float[8], =1
            aten::to | float[8]
              aten::_to_copy | float[8]
                aten::copy_ | float[8], float[8], =False
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pageable -> Device) 3us 32B
            """,
        ),
        Quiet(
            "another-tensor",
            """
            # device 0 NVIDIA A100 8.0
            aten::ones
              aten::fill_ | float[8], =1
            aten::to | float[128]
              aten::_to_copy | float[128]
                aten::copy_ | float[128], float[128], =False
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pageable -> Device) 3us 512B
            """,
        ),
        Quiet(
            "to-the-cpu",
            """
            # device 0 NVIDIA A100 8.0
            aten::ones
              aten::fill_ | float[8], =1
                cudaLaunchKernel
                  => fill_kernel
            aten::to | float[8]
              aten::_to_copy | float[8]
                aten::copy_ | float[8], float[8], =False
                  cudaMemcpyAsync
                    => Memcpy DtoH (Device -> Pageable) 3us 32B
            """,
        ),
        Quiet(
            "filled-on-the-device",
            """
            # device 0 NVIDIA A100 8.0
            aten::zeros
              aten::zero_ | float[8]
                cudaMemsetAsync
                  => Memset (Device)
            aten::to | float[8]
              aten::_to_copy | float[8]
                aten::copy_ | float[8], float[8], =False
                  cudaMemcpyAsync
                    => Memcpy HtoD (Pageable -> Device) 3us 32B
            """,
        ),
        Quiet(
            "stays-on-cpu",
            """
            # device 0 NVIDIA A100 8.0
            aten::ones
              aten::fill_ | float[8], =1
            aten::to | float[8]
              aten::_to_copy | float[8]
                aten::copy_ | float[8], float[8], =False
            aten::relu
              cudaLaunchKernel
                => relu_kernel
            """,
        ),
        Abstains(
            "cpu-run",
            """
            aten::ones
              aten::fill_ | float[8], =1
            aten::to | float[8]
              aten::_to_copy | float[8]
                aten::copy_ | float[8], float[8], =False
            """,
        ),
    )

    def applies(self, trace: Trace) -> NotChecked | NotApplicable | None:
        return without_device(trace)

    def match(self, event: Event) -> bool:
        cast = event.last_child
        copy = cast.last_child if cast is not None and cast.name == "aten::_to_copy" else None
        if copy is None or copy.name != "aten::copy_" or not _keeps_dtype(copy):
            return False
        moved = [work for work in copy.kernels if _is_upload(work)]
        if not moved:
            return False
        return any(
            fill.name in _FILLS and _same_tensor(fill, copy, moved[0]) for fill in _before(event)
        )

    def message(self, events: object) -> str:
        return "filled on the CPU, then copied to the GPU"


def _keeps_dtype(copy: Event) -> bool:
    dtypes = copy.input_dtypes
    return len(dtypes) >= 2 and bool(dtypes[0]) and dtypes[0] == dtypes[1]


def _is_upload(work: Event) -> bool:
    return work.kind == EventKind.Memcpy and "HtoD" in work.name


def _before(event: Event) -> Iterator[Event]:
    """What ran last before `event`: the sibling before it (or before what only wraps it) and the
    last child of each level below that.
    """
    previous, above = event.previous_sibling, event
    for _ in range(3):
        if previous is not None or (parent := above.parent) is None:
            break
        previous, above = parent.previous_sibling, parent
    while previous is not None:
        yield previous
        previous = previous.last_child


def _same_tensor(fill: Event, copy: Event, moved: Event) -> bool:
    if fill.kernels:  # on the device
        return False
    source = copy.input_shapes[1] if len(copy.input_shapes) > 1 else ()
    filled = fill.input_shapes[0] if fill.input_shapes else None
    item_nbytes = ITEM_NBYTES.get(copy.input_dtypes[1])
    if moved.nbytes and item_nbytes and moved.nbytes != prod(source) * item_nbytes:
        return False
    # arange and its kin take sizes, not a tensor; there the shape is not to be had.
    return filled == source or (filled == () and fill.name not in _IN_PLACE)
