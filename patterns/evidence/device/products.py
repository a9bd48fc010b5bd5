"""Matrix products and convolutions: on which cores their kernels ran, and in which precision."""

from __future__ import annotations

import re
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from tidy.account.device_work import KINDS, kinds_by_name
from tidy.account.work_kinds import (
    ATTENTION,
    ORDINARY,
    PRODUCTS,
    TENSOR_CORES,
    convolve,
    kernel_kind,
)
from tidy.trace import EventKind, Events, Rows, Trace
from tidy.trace.inputs import Shape
from tidy.trace.kept import kept

from . import devices, launches

# Ops that multiply matrices.
MATRIX_PRODUCTS = frozenset({"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"})
_FIRST_WITH_TENSOR_CORES, FIRST_WITH_BFLOAT16 = (7, 0), (8, 0)
_FIRST_WITH_TF32 = (8, 0)
_FLOATS = ("float", "float")
# TF32 is no faster than float32 on GeForce cards and the L40, by NVIDIA's data sheets.
_NO_GAIN_OF_TF32 = re.compile(r"GeForce|\bL40$")
_NO_TENSOR_CORES = re.compile(r"GTX 16")
# Kernels that take part in products, and have no use for Tensor Cores: one of the factors is a
# vector or a filter by itself, or they add up, transform and prepare.
_NO_MATRICES = re.compile(
    r"gemv|gemmk1|dot_kernel|depthwise|splitk_?reduce|reduce_?splitk|reduce_wgrad|offsets|fft"
    r"|gcgemm|flip_filter|winograd(?!.*gemm|_\d)|reduce_1block"
)
_FLOAT32 = re.compile(
    r"sgemm|scudnn|f32f32_f32f32|(gemm|conv|[dw]grad|fprop)\w*<(\w+, ?)*float|gemmsn\w*<\w*float"
)
_TF32 = re.compile(r"tf32|tensorop_s168[48](gemm|fprop|[dw]grad)|^\w*_s168[48]gemm")
_HALF = re.compile(r"half|f16|fp16|bf16|bfloat|h884|h1688|h16816|e4m3|e5m2|i8816|int8")


class Precision(Enum):
    """In what a kernel multiplies, by its name."""

    FLOAT32 = "float32 on ordinary cores"
    TF32 = "TF32 on Tensor Cores"
    LOWER = "16 bits or fewer on Tensor Cores"
    OPEN = "what the name does not tell"


_ON_TENSOR_CORES = (Precision.TF32, Precision.LOWER, Precision.OPEN)


def precision_of(kernel: str) -> Precision | None:
    """Tell in what a kernel of NVIDIA's multiplies; None for others, or where it is open."""
    return _precision_of(kernel, kernel_kind(kernel))


def _precision_of(kernel: str, kind: str) -> Precision | None:
    """The same where the kind of the kernel is known."""
    lower = kernel.lower()
    if kind in (TENSOR_CORES, ATTENTION, PRODUCTS):
        if _HALF.search(lower):
            return Precision.LOWER
        return Precision.TF32 if _TF32.search(lower) else Precision.OPEN
    if kind != ORDINARY or _NO_MATRICES.search(lower) or _HALF.search(lower):
        return None
    return Precision.FLOAT32 if _FLOAT32.search(lower) else None


@kept
def kernels_by_precision(trace: Trace) -> dict[Precision, NDArray[np.int64]]:
    """Return rows of the kernels that multiply in a known precision, by that."""
    rows = trace.rows_of_kind(EventKind.Kernel)
    names, first, which = np.unique(trace.name_id[rows], return_index=True, return_inverse=True)
    kinds = [KINDS[code] for code in kinds_by_name(trace, rows[first]).tolist()]
    texts = [trace.names[name] for name in names.tolist()]
    known = np.array(list(map(_precision_of, texts, kinds)), object)
    return {each: rows[(known == each)[which]] for each in Precision}


def takes_dtype(trace: Trace, kernels: Rows, dtype: str) -> NDArray[np.bool_]:
    """Tell for each kernel whether what launched it has an input of a dtype that begins so."""
    ops = trace.launching_ops(kernels)
    result, known = np.zeros(len(ops), bool), np.flatnonzero(ops >= 0)

    def takes(dtypes: Shape) -> bool:
        return any(each.startswith(dtype) for each in dtypes)

    result[known] = trace.by_dtypes(ops[known], takes)
    return result


def is_float_template(trace: Trace, kernels: Rows) -> NDArray[np.bool_]:
    """Tell for each kernel whether it is one of Triton's, of inputs in float32 and none in fewer
    bits.

    Whether it multiplies in TF32 is not to be told.
    """
    is_template = launches.has_name(trace, "triton_*")[trace.name_id[kernels]]
    in_float = takes_dtype(trace, kernels, "float") & ~takes_dtype(trace, kernels, "c10::")
    return np.asarray(is_template & in_float, bool)


def hides_tf32(trace: Trace) -> bool:
    """Tell whether templates of Triton are the only products in float32."""
    of = kernels_by_precision(trace)
    if not is_float_template(trace, of[Precision.OPEN]).any():
        return False
    if len(of[Precision.TF32]) + len(of[Precision.FLOAT32]):
        return False
    return not _are_float(trace, trace.rows_named(*MATRIX_PRODUCTS)).any()


def has_tensor_cores(trace: Trace) -> bool:
    """Tell whether a GPU of the run has Tensor Cores."""
    nvidia = devices.used_devices(trace, "nvidia")
    known = (each.compute for each in nvidia if not _NO_TENSOR_CORES.search(each.name))
    return any(compute and compute >= _FIRST_WITH_TENSOR_CORES for compute in known)


def first_compute(trace: Trace) -> tuple[int, int]:
    """Return the compute capability of the oldest of NVIDIA's GPUs that took part."""
    nvidia = devices.used_devices(trace, "nvidia")
    return min((device.compute for device in nvidia if device.compute), default=(0, 0))


def has_tf32(trace: Trace) -> bool:
    """Tell whether a GPU of the run has TF32."""
    nvidia = devices.used_devices(trace, "nvidia")
    return any(device.compute and device.compute >= _FIRST_WITH_TF32 for device in nvidia)


def gains_by_tf32(trace: Trace) -> bool:
    """Tell whether a GPU of the run is faster in TF32 than in float32."""
    nvidia = devices.used_devices(trace, "nvidia")
    return has_tf32(trace) and not all(_NO_GAIN_OF_TF32.search(each.name) for each in nvidia)


def without_tf32(trace: Trace) -> Events:
    """Return the float32 products that switching TF32 on would speed up: ops, and kernels without
    one.

    Where some product of float32 ran on Tensor Cores TF32 is on; those on ordinary cores then have
    sizes that cuBLAS has no TF32 kernel for.
    """
    return trace.events(_without_tf32(trace))


@kept
def _without_tf32(trace: Trace) -> Rows:
    none = np.empty(0, np.int64)
    if not gains_by_tf32(trace):
        return none
    compiled, kernels = _of_compiled_code(trace), kernels_by_precision(trace)
    if len(compiled[Precision.TF32]):
        return none
    floats = launches.innermost_rows(trace, trace.rows_named(*MATRIX_PRODUCTS))
    floats = floats[_are_float(trace, floats)]
    if any(launches.launches_any(trace, floats, kernels[each]).any() for each in _ON_TENSOR_CORES):
        return none
    by_op = floats[launches.launches_any(trace, floats, kernels[Precision.FLOAT32])]
    return np.concatenate([by_op, compiled[Precision.FLOAT32]])


def _of_compiled_code(trace: Trace) -> dict[Precision, Rows]:
    """Kernels of products that compiled code launched without an op, by precision.

    Of a plain product's kernel the name does not tell that it is no convolution's: where there is
    any, none is known.
    """
    known = kernels_by_precision(trace)
    kernels = trace.rows_of_kind(EventKind.Kernel)
    names = [trace.names[each] for each in np.unique(trace.name_id[kernels]).tolist()]
    ranges = launches.below(trace, trace.rows_named(*launches.COMPILED))
    if len(trace.rows_named("aten::*conv*")) or any(convolve(names)):
        return dict.fromkeys(known, kernels[:0])
    is_op = launches.has_name(trace, "*::*")

    def own(rows: Rows) -> Rows:
        ops = trace.launching_ops(rows)
        return rows[ranges.contains(ops) & ~is_op[trace.name_id[ops]]]

    return {each: own(rows) for each, rows in known.items()}


def _are_float(trace: Trace, products: Rows) -> NDArray[np.bool_]:
    """Tell whether both factors are float32. Under autocast the bias of a wrapper may be, alone."""
    first_two = trace.by_dtypes(products, lambda dtypes: dtypes[:2] == _FLOATS)
    next_two = trace.by_dtypes(products, lambda dtypes: dtypes[1:3] == _FLOATS)
    adds = launches.has_name(trace, "*add*")[trace.name_id[products]]
    return np.where(adds, next_two, first_two)
