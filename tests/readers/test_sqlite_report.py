"""`tidy report` on profiles of Nsight Systems and nvprof."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ..cli.command import tidy, tidy_process
from .sqlite_files import NsysFile, NvprofFile

_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_STEP_NS = 1_000_000


def _training(file: NsysFile) -> None:
    """Three steps as emit_nvtx(record_shapes=True) shows them: the loader waits, zeros go to the
    GPU, gradients are zeroed.
    """
    file.gpu(0, "NVIDIA A100", 8, 0)
    for step in range(3):
        at = step * _STEP_NS
        file.range(f"{_LOADER}, op_id = 1", at, at + 400_000)
        file.range(
            "aten::zeros, op_id = 2, sizes = [[], [], [], [], []]", at + 400_100, at + 409_000
        )
        file.range("aten::zero_, op_id = 3, sizes = [[64, 4]]", at + 401_000, at + 408_000)
        sizes = "sizes = [[64, 4], [], []], input_op_ids = [(2,0), (0,-1), (0,-1)]"
        file.range(f"aten::to, op_id = 4, {sizes}", at + 410_000, at + 450_000)
        file.range(f"aten::_to_copy, op_id = 5, {sizes}", at + 411_000, at + 449_000)
        copy = "aten::copy_, op_id = 6, sizes = [[64, 4], [64, 4], []]"
        file.range(copy, at + 412_000, at + 448_000)
        file.call("cudaMemcpyAsync_v3020", at + 413_000, at + 440_000, 10 * step + 1)
        kinds = {"copyKind": 1, "srcKind": 0, "dstKind": 2, "bytes": 1024}
        file.work("MEMCPY", at + 420_000, at + 423_000, 10 * step + 1, **kinds)
        file.range("Optimizer.step#SGD.step, op_id = 9", at + 900_000, at + 990_000)
        file.range("Optimizer.zero_grad#SGD.zero_grad, op_id = 10", at + 991_000, at + 999_000)
        file.range("aten::zero_, op_id = 11, sizes = [[64, 4]]", at + 992_000, at + 998_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with NsysFile(tmp_path / "profile.sqlite") as file:
        _training(file)
    return tmp_path


def test_rules_fire(folder: Path) -> None:
    # Batches that are made in 0.4 ms take workers as long to hand over: an info.
    result = tidy("report", "profile.sqlite", "--format", "json", "--fail-on", "info", cwd=folder)
    (report,) = result.json()["traces"]
    found = Counter[str]()  # in the window, and outside of it
    for finding in report["findings"]:
        found[finding["code"]] += finding["count"]
    assert (found["TDY101"], found["TDY603"]) == (3, 3)
    # The zeros that are copied to the GPU cannot be told from others without dtypes.
    unchecked = {each["code"] for each in report["not_checked"]}
    assert {"TDY201", "TDY501", "TDY503", "TDY701"} <= unchecked
    assert "no dtypes" in report["warnings"][0]
    assert report["steps"]["count"] == 3
    assert result.code == 1


def test_text(folder: Path) -> None:
    result = tidy("report", "profile.sqlite", "--fail-on", "info", cwd=folder)
    assert result.code == 1
    assert "TDY101" in result.out
    assert "NVIDIA A100" in result.out
    assert result.err == ""


def _frames(file: NsysFile) -> None:
    """Five frames of a program that is no PyTorch's."""
    for frame in range(5):
        at = frame * _STEP_NS
        file.range("frame", at, at + 800_000)
        file.range("physics", at + 10_000, at + 500_000)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_program_without_operators_is_not_said_to_be_python(tmp_path: Path, on_gpu: bool) -> None:
    with NsysFile(tmp_path / "frames.sqlite") as file:
        _frames(file)
        for number in range(50 if on_gpu else 0):
            at = number * _STEP_NS // 10
            file.call("cudaLaunchKernel_v7000", at + 10_000, at + 20_000, number + 1)
            file.kernel("step", at + 30_000, at + 60_000, number + 1)
            file.call("cudaStreamSynchronize_v3020", at + 20_000, at + 65_000, 100 + number)
    said = tidy("report", "frames.sqlite", cwd=tmp_path).out
    account, _, rest = said.partition("Not checked")
    assert "host code (" in account
    assert "what the host code does is not recorded" in account
    assert "Python between ops" not in account
    assert "TDY303" not in account  # it asks for its waits itself
    assert "TDY401" in rest


def test_an_operator_may_launch_what_nothing_is_known_to_launch(tmp_path: Path) -> None:
    """Without calls (--trace=cuda-hw) it is not work on the CPU that keeps the GPU idle."""
    with NsysFile(tmp_path / "no-calls.sqlite") as file:
        for number in range(30):
            at = number * _STEP_NS
            file.range(f"aten::mm, seq = {number}", at, at + 700_000)
            file.kernel("gemm", at + 710_000, at + 900_000, 0)
    said = tidy("report", "no-calls.sqlite", cwd=tmp_path).out
    assert "idle: launching" in said
    assert "work on the CPU" not in said


def test_what_was_not_recorded_is_recorded_by_the_same_tool_if_it_can(tmp_path: Path) -> None:
    with NsysFile(tmp_path / "cpu.sqlite") as file:
        file.range("aten::mm, seq = 1", 0, 700_000)
    not_checked = tidy("report", "cpu.sqlite", "--format", "json", cwd=tmp_path).json()
    how = {each["code"]: each["remedy"] for each in not_checked["traces"][0]["not_checked"]}
    assert how["TDY402"] == "record with nsys profile --trace=cuda,nvtx"
    # Nsight Systems records no dtypes.
    assert how["TDY701"] == "record with torch.profiler and record_shapes=True"
    said = tidy("report", "cpu.sqlite", cwd=tmp_path).out
    assert "ProfilerActivity.CUDA and record_shapes" not in said.replace("\n", " ")


@pytest.mark.parametrize(
    "command",
    [
        ["report"],
        ["report", "--format", "markdown"],
        ["report", "--name", "Memset"],
        ["account", "--by-line"],
    ],
)
def test_one_fill_is_next_to_nothing(tmp_path: Path, command: list[str]) -> None:
    with NsysFile(tmp_path / "fill.sqlite") as file:
        file.work("MEMSET", 100, 1570, 1, memKind=2, bytes=64)
    result = tidy(command[0], "fill.sqlite", *command[1:], cwd=tmp_path)
    assert result.code == 0
    assert "next to nothing is recorded: 1 event within 1.47 us" in result.out
    assert "%" not in result.out


def test_programs_get_no_share_of_next_to_nothing(tmp_path: Path) -> None:
    with NsysFile(tmp_path / "fill.sqlite") as file:
        file.work("MEMSET", 100, 1570, 1, memKind=2, bytes=64)
    named = ["report", "fill.sqlite", "--name", "Memset", "--format", "json"]
    (report,) = tidy(*named, cwd=tmp_path).json()["traces"]
    (finding,) = report["findings"]
    assert (finding["cost_ns"], finding["cost_share"]) == (1470, None)
    account = tidy("account", "fill.sqlite", "--format", "json", cwd=tmp_path).json()
    assert account["traces"][0]["account"] == []


def test_standard_input(folder: Path) -> None:
    content = (folder / "profile.sqlite").read_bytes()
    piped = tidy_process("report", "-", "--format", "json", stdin=content, cwd=folder)
    given = tidy("report", "profile.sqlite", "--format", "json", cwd=folder)
    assert piped.code == given.code == 0
    assert [r["findings"] for r in piped.json()["traces"]] == [
        r["findings"] for r in given.json()["traces"]
    ]
    cut = tidy_process("report", "-", stdin=content[:5000], cwd=folder)
    assert cut.code == 2
    assert cut.err.startswith("tidy: <stdin>: ")
    assert len(cut.err.splitlines()) == 1


def test_folders(folder: Path) -> None:
    with NvprofFile(folder / "old.nvprof") as file:
        file.range("aten::mul", 1, 2)
    with NvprofFile(folder / "not-looked-for.db") as file:
        file.range("aten::mul", 1, 2)
    result = tidy("report", ".", "--format", "json", cwd=folder)
    paths = [Path(report["path"]).name for report in result.json()["traces"]]
    assert paths == ["old.nvprof", "profile.sqlite"]


def test_one_line_for_what_cannot_be_read(folder: Path) -> None:
    (folder / "report.nsys-rep").write_bytes(b"\0\1\2\3")
    result = tidy("report", "report.nsys-rep", cwd=folder)
    assert (result.code, result.out) == (2, "")
    assert "nsys export --type sqlite report.nsys-rep" in result.err
    assert len(result.err.splitlines()) == 1
