"""Kernels that others recorded take about as long as the model says."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ..oracle.shared import load, path_of

_SCRIPT = Path(__file__).parents[2] / "benchmarks" / "bench_modelled.py"
_FACTOR = 1.3


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark that compares a trace with the model."""
    spec = importlib.util.spec_from_file_location("bench_modelled", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_PRODUCTS = (
    ("kineto__resnet50_num_workers_0", "v100", 900),
    ("kineto__resnet50_num_workers_4", "v100", 900),
    ("param__dlrm__dlrm_kineto__worker0_step_12", "v100", 15),
    ("tracelens__h100__gaunernst_bert-small-uncased", "h100", 26),
    ("tracelens__h100__Qwen_Qwen1.5-0.5B-Chat", "h100", 169),
    ("misc__sidnb13", "h100", 18),
)


@pytest.mark.parametrize(("name", "key", "least"), _PRODUCTS)
def test_operators_of_a_run(bench: ModuleType, name: str, key: str, least: int) -> None:
    """All of one kind together within a factor; most of the time in operators within two."""
    trace = load(path_of(name))
    spec = bench.spec_of(trace)
    assert spec.key == key
    products = bench.compare_products(trace, spec)
    assert sum(pair.count for pair in products.pairs) >= least
    assert products.left_out == 0
    kinds = [products] if "dlrm" in name else [products, bench.compare_elementwise(trace, spec)]
    for found in kinds:
        assert 1 / _FACTOR <= found.ratio <= _FACTOR
        assert found.within >= 0.9


def test_the_comparison_is_printed_for_each_trace(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = path_of("tracelens__h100__gaunernst_bert-small-uncased")
    monkeypatch.setattr(sys, "argv", ["bench", str(recorded), str(path_of("hta__cpu_only"))])
    bench.main()
    printed = capsys.readouterr().out
    assert "NVIDIA H100 80GB HBM3" in printed
    assert "products: recorded 0.198 ms" in printed
    assert "17 x aten::addmm bfloat16 512 141x512 512x512" in printed
    assert "no modelled device" in printed


def test_a_trace_that_is_none_is_one_line(tmp_path: Path) -> None:
    """Of the script as a user starts it."""
    command = [sys.executable, str(_SCRIPT), str(tmp_path / "none.json")]
    env = {**os.environ, "PYTHONPATH": str(_SCRIPT.parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
