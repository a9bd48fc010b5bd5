"""Peaks of devices: known by the names that profilers write, and the same as the runtime's."""

from __future__ import annotations

import pytest

from tidy.account import rates_of
from tidy.runtime.modelled.specs import SPECS, DeviceSpec

_ORDINARY = ("float64", "float32", "float16", "bfloat16")
_MATRIX = ("float64", "tf32", "float16", "bfloat16", "float8")


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_figures_are_those_of_the_modelled_device(spec: DeviceSpec) -> None:
    rates = rates_of(str(spec.properties(0)["name"]))
    assert rates is not None
    for dtype in _ORDINARY:
        assert rates.peak(dtype, False) == getattr(spec, f"{dtype}_flops_per_s")
    for dtype in _MATRIX:
        assert (rates.peak(dtype, True) or 0) == getattr(spec, f"tensor_{dtype}_flops_per_s")
    assert rates.nbytes_per_s == spec.memory_bytes_per_s


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("NVIDIA A100-PG509-200", 312),
        ("Tesla V100-DGXS-32GB", 125),
        ("Tesla V100-PCIE-16GB", 112),
        ("NVIDIA GeForce RTX 2080 Ti", 53.8),
        ("NVIDIA A10", 125),
        ("NVIDIA A10G", 70),
        ("NVIDIA L40", 181),
        ("NVIDIA L40S", 362),
        ("NVIDIA L4", 121),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H100 80GB HBM3", 989.4),
        ("NVIDIA GH200 480GB", 989.4),
        ("AMD Instinct MI300X VF", 1307.4),
        ("Quadro GP100", None),
    ],
)
def test_a_device_is_known_by_its_name(name: str, tflops: float | None) -> None:
    """Dense float16 with sums in float32, by the vendors' data sheets."""
    rates = rates_of(name)
    assert rates is not None
    assert rates.peak("float16", True) == (tflops and pytest.approx(tflops * 1e12))


@pytest.mark.parametrize(
    "name",
    ["", "AMD Radeon Graphics", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA TITAN V", "ARTEMIS"],
)
def test_an_unknown_device_has_no_rates(name: str) -> None:
    assert rates_of(name) is None
