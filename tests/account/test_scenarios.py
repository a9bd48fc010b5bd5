"""Scripts with one known problem, recorded: the account's largest part names it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import tidy
from tidy.account import Account, make_accounts

from ..cli.command import tidy as command
from ..environment import SOAK
from ..oracle.shared import load, path_of

_SCRIPTS = Path(__file__).parent / "scenarios"


class Scenario(NamedTuple):
    """A script, what it is recorded with, and what its largest part may be."""

    name: str
    device: str  # of tidy.runtime; "" for its CPU
    parts: tuple[str, ...]  # "part/cause"
    options: tuple[str, ...] = ()


_ON_CPU_TIME = Path(__file__).parents[1] / "live" / "on_cpu_time.py"
_SLEEP = ("synchronous_loader", "too_few_workers")
_LOADING = "data-loading"
_WAITING = ("idle/device-wait", "compute/elementwise")
_PYTHON = "python"
_COPIES = ("copy/copy", "idle/device-wait")
_SCENARIOS = (
    Scenario("synchronous_loader", "a100", (f"idle/{_LOADING}",)),
    Scenario("synchronous_loader", "", (f"host/{_LOADING}",)),
    Scenario("too_few_workers", "a100", (f"idle/{_LOADING}",)),
    Scenario("too_few_workers", "", (f"host/{_LOADING}",)),
    Scenario("item_in_each_step", "t4", _WAITING, ("--no-stack",)),
    Scenario("launch_bound", "a100", ("idle/launching",), ("--no-stack",)),
    Scenario("preprocessing_on_the_cpu", "a100", ("idle/cpu-op",)),
    Scenario("unpinned_copies", "t4", _COPIES),
    Scenario("allocator_churn", "a100", ("idle/allocator",), ("--no-stack",)),
    Scenario("python_bound", "a100", (f"idle/{_PYTHON}",)),
    Scenario("python_bound", "", (f"host/{_PYTHON}",)),
)


def _recorded(name: str, folder: Path, *options: str | Path) -> tuple[Account, ...]:
    """The accounts of a script; `options` may end with a script that runs it."""
    path = folder / "recorded.json.gz"
    arguments = ["run", "--fail-on", "never", "--trace", path, *options]
    done = command(
        *arguments, _SCRIPTS / f"{name}.py", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"
    )
    assert done.code == 0, done.err
    return make_accounts(tidy.load(path))


def _largest(account: Account) -> str:
    part = account.parts[0]
    return f"{part.part}/{part.cause}"


def _in_each_run(scenario: Scenario) -> bool:
    """Leave to `make soak` what runs on PyTorch, below, or is recorded of a device.

    The loader in the training thread is the idle time of a recorded ResNet, too.
    """
    return SOAK or bool(scenario.device and scenario.name != "synchronous_loader")


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    list(filter(_in_each_run, _SCENARIOS)),
    ids=lambda s: f"{s.name}-{s.device or 'cpu'}",
)
def test_on_the_runtime(scenario: Scenario, tmp_path: Path) -> None:
    options: list[str | Path] = ["--framework", "runtime", *scenario.options]
    options += ["--device", scenario.device] if scenario.device else []
    options += [] if scenario.name in _SLEEP else [_ON_CPU_TIME]
    accounts = _recorded(scenario.name, tmp_path, *options)
    assert {_largest(account) for account in accounts} <= set(scenario.parts)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("synchronous_loader", f"host/{_LOADING}"),
        ("too_few_workers", f"host/{_LOADING}"),
        ("python_bound", f"host/{_PYTHON}"),
    ],
)
def test_on_pytorch(name: str, part: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (account,) = _recorded(name, tmp_path, "--framework", "torch")
    assert _largest(account) == part


@pytest.mark.oracle
def test_a_first_step_that_compiles_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (account,) = _recorded("compiled", tmp_path, "--framework", "torch")
    first = account.window.left_out[0]
    assert "compilation" in first.reason
    assert first.time_ns > 3 * account.window.time_ns / len(account.window.steps)


@pytest.mark.parametrize(
    ("start", "cause"),
    [
        ("kineto__resnet50_num_workers_0", _LOADING),
        ("param__linear_kineto", "launching"),
        ("hta__nccl_parser_config", "launching"),
        ("tracelens__mi300__Falconsai_nsfw_image_detection", "launching"),
        ("misc__particle_transformer", "launching"),
    ],
)
def test_why_recorded_devices_idle(start: str, cause: str) -> None:
    for account in make_accounts(load(path_of(start))):
        idle = [part for part in account.parts if part.part == "idle"]
        assert idle[0].cause == cause


def test_an_exposed_all_reduce_of_two_devices() -> None:
    folder = Path(__file__).parents[1] / "data" / "several_devices"
    accounts = make_accounts(tidy.load(folder / "one_large_bucket.json.gz"))
    assert {_largest(account) for account in accounts} == {"communication/transfer"}


def test_an_exposed_all_reduce() -> None:
    (account,) = make_accounts(load(path_of("tracelens__mi300__resnet_act_checkpoint")))
    assert account.parts[0].part == "communication"


def test_preprocessing_by_name() -> None:
    """The GPU idles more than half the step while the images are prepared."""
    (account,) = make_accounts(load(path_of("tracelens__h100__facebook_timesformer")))
    largest = account.parts[0]
    assert (largest.part, largest.cause) == ("idle", "cpu-op")
    assert largest.share > 0.5
    assert "preprocess" in largest.mostly_in


def test_a_cold_first_step_is_left_out() -> None:
    (account,) = make_accounts(load(path_of("param__linear_kineto")))
    first = account.window.left_out[0]
    assert 1_000_000_000 < first.time_ns < 1_040_000_000
