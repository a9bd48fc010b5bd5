"""Kernels are named as the libraries name them, so that rules know them."""

from __future__ import annotations

import pytest

from tidy.patterns.evidence.device.products import Precision, precision_of
from tidy.runtime.modelled.cost import Operand
from tidy.runtime.modelled.specs import DeviceSpec, find_spec

from .costs import EVERY, cost

_PRODUCTS: dict[str, tuple[list[Operand], Operand]] = {
    "aten::mm": (
        [Operand((256, 512), ""), Operand((512, 384), "", False)],
        Operand((256, 384), ""),
    ),
    "aten::addmm": (
        [Operand((384,), ""), Operand((256, 512), ""), Operand((512, 384), "")],
        Operand((256, 384), ""),
    ),
    "aten::bmm": (
        [Operand((8, 64, 64), "", False), Operand((8, 64, 64), "")],
        Operand((8, 64, 64), ""),
    ),
}


def _named(op: str, dtype: str, spec: DeviceSpec, tf32: bool) -> str:
    given, out = _PRODUCTS[op]
    given = [each._replace(dtype=dtype) for each in given]
    return cost(op, given, [out._replace(dtype=dtype)], spec, tf32)[0].name


@EVERY
@pytest.mark.parametrize("op", _PRODUCTS)
def test_a_rule_sees_which_cores_multiplied(op: str, spec: DeviceSpec) -> None:
    assert precision_of(_named(op, "float32", spec, False)) == Precision.FLOAT32
    if spec.compute >= (8, 0):
        # Names of nvjet, which Hopper and later GPUs have, do not tell what they multiply in.
        single = precision_of(_named(op, "float32", spec, True))
        assert single in (Precision.TF32, Precision.OPEN)
        for dtype in ("float16", "bfloat16"):
            half = precision_of(_named(op, dtype, spec, False))
            assert half in (Precision.LOWER, Precision.OPEN)
    else:
        assert _named(op, "float32", spec, True) == _named(op, "float32", spec, False)
        assert precision_of(_named(op, "float16", spec, False)) != Precision.FLOAT32


@pytest.mark.parametrize(
    ("key", "dtype", "tf32", "part"),
    [
        ("v100", "float32", False, "volta_sgemm_"),
        ("v100", "float16", False, "volta_fp16_s884gemm_fp16_"),
        ("t4", "float16", False, "turing_fp16_s1688gemm_"),
        ("a100", "float32", False, "ampere_sgemm_"),
        ("a100", "float32", True, "sm80_xmma_gemm_f32f32_tf32f32_f32_"),
        ("a100", "float16", False, "ampere_fp16_s16816gemm_"),
        ("l4", "bfloat16", False, "ampere_bf16_s16816gemm_"),
        ("h100", "float32", True, "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize"),
        ("h100", "float16", False, "nvjet_hsh_"),
        ("b200", "bfloat16", False, "nvjet_sm100_tst_"),
    ],
)
def test_names_are_those_of_the_architecture(key: str, dtype: str, tf32: bool, part: str) -> None:
    assert _named("aten::mm", dtype, find_spec(key), tf32).startswith(part)


def test_names_tell_the_layout() -> None:
    """A linear layer multiplies by a transposed weight; cuBLAS has columns first, and says tn."""
    spec = find_spec("v100")
    assert _named("aten::mm", "float32", spec, False).endswith("_tn")
    assert _named("aten::addmm", "float32", spec, False).endswith("_nn")
    assert _named("aten::bmm", "float32", spec, False).endswith("_nt")
    spec, x = find_spec("a100"), Operand((64, 64), "float32")
    for other in (Operand((64,), "float32"), x._replace(contiguous=False)):
        name = cost("aten::add", [x, other], [x], spec)[0].name
        assert "::elementwise_kernel<128, 2" in name


@pytest.mark.parametrize(
    ("op", "part"),
    [
        ("aten::add", "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>"),
        ("aten::mul_", "MulFunctor<float>"),
        ("aten::relu", "launch_clamp_scalar"),
        ("aten::_foreach_addcdiv_", "multi_tensor_apply_kernel"),
        ("aten::_softmax", "softmax_warp_forward"),
        ("aten::native_layer_norm", "vectorized_layer_norm_kernel<float, float>"),
    ],
)
def test_other_names_are_aten_s(op: str, part: str) -> None:
    x = Operand((64, 64), "float32")
    assert part in cost(op, [x, x], [x], find_spec("a100"))[0].name
