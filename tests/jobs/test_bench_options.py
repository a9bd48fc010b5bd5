"""What the benchmark of worker processes refuses before it makes files."""

from __future__ import annotations

import sys

import bench_jobs
import pytest


@pytest.mark.parametrize("option", ["--rounds", "--files"])
def test_none_to_measure_is_an_error_of_the_command_line(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench_jobs.py", "no.json", option, "0"])
    with pytest.raises(SystemExit):
        bench_jobs.main()
    assert f"argument {option}: 0 is less than 1" in capsys.readouterr().err
