"""The modelled devices are complete, ordered as their data sheets are, and known by name."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from tidy.runtime.modelled.specs import SPECS, DeviceSpec, find_spec

from ..oracle.shared import decoded, path_of
from ..runtime.tables import named

DOCUMENT = Path(__file__).parents[2] / "docs" / "modelled-device.md"
EVERY = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


@pytest.mark.parametrize(
    ("text", "key"), [("H100", "h100"), (" a100 ", "a100-40"), ("A100-80", "a100-80")]
)
def test_a_device_is_found_in_any_case(text: str, key: str) -> None:
    assert find_spec(text).key == key


def test_an_unknown_device_is_told_what_there_is() -> None:
    with pytest.raises(ValueError, match="'tpu'") as raised:
        find_spec("tpu")
    message = str(raised.value)
    assert "\n" not in message
    assert {"a100", *SPECS} <= set(message.replace(",", "").split())
    assert len({*SPECS.values()}) == len(SPECS)


@EVERY
def test_figures_are_of_the_right_size_and_have_a_source(spec: DeviceSpec) -> None:
    for each in fields(spec):
        value = getattr(spec, each.name)
        if isinstance(value, (int, float)) and not each.name.startswith("tensor_"):
            assert value > 0, each.name
    assert 1e11 < spec.memory_bytes_per_s < 1e13
    assert 1e9 < spec.pageable_bytes_per_s < spec.pinned_bytes_per_s < spec.memory_bytes_per_s
    assert 1e12 < spec.float32_flops_per_s < 1e14
    assert find_spec(spec.key) is SPECS[spec.key] is spec
    sources = DOCUMENT.read_text(encoding="utf-8").partition("Every figure has a source:")[2]
    assert f"| {spec.key} |" in sources or f"`{spec.key}`" in sources


@EVERY
def test_figures_fit_the_age_the_cores_and_the_clock(spec: DeviceSpec) -> None:
    """TF32 and bfloat16 came with 8.0, eight bits with 8.9."""
    assert spec.has_tf32 == (spec.compute >= (8, 0))
    assert bool(spec.tensor_bfloat16_flops_per_s) == (spec.compute >= (8, 0))
    assert bool(spec.tensor_float8_flops_per_s) == (spec.compute >= (8, 9))
    assert spec.tensor_float16_flops_per_s > spec.float32_flops_per_s
    if spec.key == "generic":
        return
    # 64 or 128 cores an SM, two operations a cycle, within the rounding of data sheets.
    cores = 64 if spec.compute in ((7, 0), (7, 5), (8, 0)) else 128
    made = 2 * cores * spec.sm_count * spec.clock_hz
    assert made == pytest.approx(spec.float32_flops_per_s, rel=0.1)


def _documented() -> dict[str, dict[str, str]]:
    """The tables of docs/modelled-device.md: by device, then by column."""
    found: dict[str, dict[str, str]] = {}
    header: list[str] = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| key |"):
            header = cells
        elif line.startswith("|") and cells[0] in SPECS:
            found.setdefault(cells[0], {}).update(zip(header, cells, strict=True))
    return found


COLUMNS = """
SMs: sm_count; GHz: clock_hz in 1e9; GB/s: memory_bytes_per_s in 1e9; L2 MB: l2_nbytes in 1048576
pinned GB/s: pinned_bytes_per_s in 1e9; pageable GB/s: pageable_bytes_per_s in 1e9
peer GB/s: peer_bytes_per_s in 1e9; FP64: float64_flops_per_s in 1e12
FP32: float32_flops_per_s in 1e12; FP16: float16_flops_per_s in 1e12
BF16: bfloat16_flops_per_s in 1e12; tensor FP64: tensor_float64_flops_per_s in 1e12
TF32: tensor_tf32_flops_per_s in 1e12; tensor FP16: tensor_float16_flops_per_s in 1e12
tensor BF16: tensor_bfloat16_flops_per_s in 1e12; FP8: tensor_float8_flops_per_s in 1e12
launch ns: launch_ns; start ns: start_latency_ns; shortest kernel ns: kernel_floor_ns
threads an SM: max_threads_per_sm; shared KiB an SM: shared_nbytes_per_sm in 1024
"""


@EVERY
def test_the_document_has_the_figures(spec: DeviceSpec) -> None:
    row = _documented()[spec.key]
    assert row["device"] == spec.name
    assert row["compute"] == ".".join(map(str, spec.compute))
    for column, figure in named(COLUMNS).items():
        name, _, unit = figure.partition(" in ")
        value = getattr(spec, name) / float(unit or 1)
        assert float(row[column].replace("-", "0")) == pytest.approx(value), column


def test_published_ratios() -> None:
    """NVIDIA's own: TF32 is eight times float32 on an A100; an H200 is an H100 with more memory."""
    a100, h100, h200 = (find_spec(key) for key in ("a100", "h100", "h200"))
    assert a100.tensor_tf32_flops_per_s == 8 * a100.float32_flops_per_s
    assert h200.tensor_float16_flops_per_s == h100.tensor_float16_flops_per_s
    assert h200.memory_bytes_per_s / h100.memory_bytes_per_s == pytest.approx(1.4, abs=0.05)


_RECORDED = {
    "tracelens__h100__gaunernst_bert-small-uncased": "h100",
    "hta__triton_example": "a100",
    "param__dlrm__dlrm_kineto__worker0_step_12": "v100",
}


@pytest.mark.parametrize("name", _RECORDED)
def test_properties_are_those_of_a_recorded_device(name: str) -> None:
    recorded = decoded(path_of(name))["deviceProperties"][0]
    found = find_spec(_RECORDED[name]).properties(3)
    assert found.keys() == recorded.keys()
    assert found.pop("id") == 3
    assert found.pop("name").endswith(" (modelled)")
    # A driver keeps some of the memory; others' drivers keep a little more or less.
    assert found.pop("totalGlobalMem") == pytest.approx(recorded["totalGlobalMem"], rel=0.01)
    assert found == {key: recorded[key] for key in found}


def test_the_model_imports_neither_numpy_nor_the_runtime() -> None:
    """It is read by whoever asks what is modelled; modules are loaded by path, as they stand."""
    code = (
        "import sys, types, importlib, pathlib, tidy\n"
        "root = pathlib.Path(tidy.__file__).parents[1] / 'runtime' / 'modelled'\n"
        "package = types.ModuleType('model'); package.__path__ = [str(root)]\n"
        "sys.modules['model'] = package\n"
        "importlib.import_module('model.specs'); importlib.import_module('model.cost')\n"
        "print(sorted(m for m in sys.modules if m in ('numpy', 'tidy.runtime')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
