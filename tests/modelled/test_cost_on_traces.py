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
def test_products_and_convolutions(bench: ModuleType, name: str, key: str, least: int) -> None:
    """All of a run together within a factor; most of the time in operators within two."""
    trace = load(path_of(name))
    spec = bench.spec_of(trace)
    assert spec.key == key
    found = bench.compare_products(trace, spec)
    assert sum(pair.count for pair in found.pairs) >= least
    assert found.left_out == 0
    assert 1 / _FACTOR <= found.ratio <= _FACTOR
    assert found.within >= 0.9


@pytest.mark.parametrize("name", [row[0] for row in _PRODUCTS if "dlrm" not in row[0]])
def test_elementwise_operators(bench: ModuleType, name: str) -> None:
    trace = load(path_of(name))
    found = bench.compare_elementwise(trace, bench.spec_of(trace))
    assert 1 / _FACTOR <= found.ratio <= _FACTOR
    assert found.within >= 0.9


def _run(*paths: object) -> subprocess.CompletedProcess[str]:
    root = str(_SCRIPT.parents[1])
    return subprocess.run(
        [sys.executable, str(_SCRIPT), *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_the_comparison_is_printed_for_each_trace() -> None:
    recorded = path_of("tracelens__h100__gaunernst_bert-small-uncased")
    done = _run(recorded, path_of("hta__cpu_only"))
    assert done.returncode == 0, done.stderr
    assert "NVIDIA H100 80GB HBM3" in done.stdout
    assert "products: recorded 0.198 ms" in done.stdout
    assert "17 x aten::addmm bfloat16 512 141x512 512x512" in done.stdout
    assert "no modelled device" in done.stdout


def test_a_trace_that_is_none_is_one_line(tmp_path: Path) -> None:
    done = _run(tmp_path / "none.json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
