"""Options that go together with no job, and files that are no trace: one line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from make_job import main


@pytest.mark.parametrize(
    "options",
    [
        ["--node-size", "0"],
        ["--strength", "nan"],
        ["--strength", "1e300", "--plant", "slow-gpu"],
        ["--strength", "0", "--plant", "slow-link"],
        ["--rank", "99"],
        ["--seed", "-1"],
        ["--tensor-parallel", "3"],
        ["--plant", "tiredness"],
        ["--from", "{folder}/nowhere.json"],
        ["--from", "{folder}/list.json"],
        ["--from", "{folder}/other.json"],
        ["--from", "{folder}/damaged.json"],
        ["--from", "{folder}"],
    ],
)
def test_odd_options_are_usage_errors(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "other.json").write_text('{"title": "none"}')
    (tmp_path / "damaged.json").write_text('{"traceEvents": [1, {"ph": "X"}]}')
    words = [each.format(folder=tmp_path) for each in options]
    done = CliRunner().invoke(main, [str(tmp_path / "job"), "--steps", "1", *words])
    assert done.exit_code == 2
    assert done.output.splitlines()[-1].startswith("Error: ")
    assert not isinstance(done.exception, ValueError)
