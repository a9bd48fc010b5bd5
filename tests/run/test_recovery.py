"""What a killed `tidy run` leaves, and files that must not be written over."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tidy.run.folders import leftover, leftovers, temporary_folder

from .running import start, tidy_report, tidy_run, write_script

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")

_TRAIN = """
import sys, time
import tidy.runtime as torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters())
for number in range(int(sys.argv[1])):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    if number == 20:
        print("ready", flush=True)
    time.sleep(0.01)
"""


slow = pytest.mark.slow


@slow
def test_a_killed_run_is_offered_once_and_reported(tmp_path: Path) -> None:
    """With --keep-running the script goes on; only then its recording is one that was left."""
    script = write_script(tmp_path, _TRAIN)
    place = tmp_path / "tmp"
    place.mkdir()
    given = ("--steps", "1000", "--keep-running", script, "300")
    command = start(*given, cwd=tmp_path, TMPDIR=str(place))
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    command.kill()
    out, err = command.communicate(timeout=300)  # the script holds the pipes
    assert (out, err) == ("", "")
    (folder,) = place.iterdir()
    said = tidy_run(script, "1", cwd=tmp_path, TMPDIR=str(place)).err.splitlines()
    assert said[0].startswith(f"tidy: a run was killed and left {folder}, of {script}, 0 min ago")
    again = tidy_run(script, "1", cwd=tmp_path, TMPDIR=str(place)).err
    assert "was killed" not in again
    found = tidy_report("--recover", cwd=tmp_path, TMPDIR=str(place))
    assert found.code in (0, 1)
    assert f"{script}\ntidy.runtime " in found.out
    assert ", CPU run, 299 steps of " in " ".join(found.out.split())
    named = tidy_report("--recover", folder, cwd=tmp_path, TMPDIR=str(place))
    assert named.out == found.out


@pytest.mark.parametrize(
    "first",
    [
        "",
        pytest.param("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n", marks=slow),
    ],
    ids=["", "ignores SIGTERM"],
)
def test_a_script_ends_with_a_killed_run(first: str, tmp_path: Path) -> None:
    """Within ten seconds, where it would go on for an hour; what it did until then is kept."""
    script = write_script(tmp_path, first + _TRAIN)
    command = start("--steps", "1000", script, "360000", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    command.kill()
    out, err = command.communicate(timeout=200)  # the script holds the pipes until it ends
    assert (out, err) == ("", "")
    found = tidy_report("--recover", cwd=tmp_path, TMPDIR=str(tmp_path))
    steps = re.search(r", CPU run, (\d+) steps of ", " ".join(found.out.split()))
    assert steps is not None
    assert int(steps[1]) >= 3


@pytest.mark.parametrize("given", [[], ["absent"], ["."]])
def test_nothing_to_recover_is_one_line(given: list[str], tmp_path: Path) -> None:
    found = tidy_report("--recover", *given, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("tidy: --recover")
    assert len(found.err.splitlines()) == 1


@pytest.mark.parametrize("runs", [True, False])
def test_a_folder_that_a_script_still_writes_to_is_not_offered(
    runs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command was killed, and the script goes on."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "tidy-run-1-a"
    folder.mkdir()
    for name in ("settings.py", "running"):
        (folder / name).write_text("{'script': 'left.py'}", "utf-8")
    script = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True)
    (folder / "state.json").write_text(json.dumps({"pid": script.pid}), "utf-8")
    try:
        if not runs:
            script.communicate("\n")
        assert [each.folder.name for each in leftovers()] == ([] if runs else [folder.name])
    finally:
        if runs:
            script.communicate("\n")


@pytest.mark.parametrize("whole", [True, False])
def test_a_folder_without_a_recording_is_one_line(whole: bool, tmp_path: Path) -> None:
    folder = tmp_path / "tidy-run-1-a"
    folder.mkdir()
    settings = {"script": "left.py", "command": ["left.py"]} if whole else {"script": "left.py"}
    for name in ("settings.py", "running"):
        (folder / name).write_text(repr(settings), "utf-8")
    found = tidy_report("--recover", folder, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("tidy: --recover")
    assert len(found.err.splitlines()) == 1


def test_folders_of_yesterday_are_removed_and_those_in_use_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as used:
        (used / "settings.py").write_text("{'script': 'used.py'}", "utf-8")
        for name, age_s in (("tidy-run-1-a", 7200), ("tidy-run-1-b", 90_000), ("others", 90_000)):
            folder = tmp_path / name
            folder.mkdir()
            for file in (folder / "settings.py", folder / "running"):
                file.write_text("{'script': 'left.py'}", "utf-8")
                os.utime(file, (time.time() - age_s,) * 2)
        left = leftovers()
        assert [each.folder.name for each in left] == ["tidy-run-1-a"]
        assert left[0].shown == f"{tmp_path / 'tidy-run-1-a'}, of left.py, 2 h ago"
        assert leftover(used) is None
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "others",
            "tidy-run-1-a",
            used.name,
        ]
    assert not used.exists()


@pytest.mark.slow
def test_the_script_is_killed_and_the_folder_is_gone(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "import os; os.kill(os.getpid(), 9)")
    place = tmp_path / "tmp"
    place.mkdir()
    found = tidy_run(script, "30", cwd=tmp_path, TMPDIR=str(place))
    assert found.code == 128 + signal.SIGKILL
    assert not list(place.iterdir())


@pytest.mark.parametrize(
    ("option", "how"),
    [("--trace", "same"), ("--output", "link"), ("--trace", "hard"), ("--trace", "folder")],
)
def test_a_script_is_not_written_over(option: str, how: str, tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('ran')")
    target = script if how == "same" else tmp_path / "other.py"
    if how == "link":
        target.symlink_to(script)
    elif how == "hard":
        target.hardlink_to(script)
    elif how == "folder":
        target.mkdir()
    found = tidy_run(option, target, script, cwd=tmp_path)
    assert (found.code, found.out) == (2, "")
    problem = "cannot be written: this is a folder" if how == "folder" else f"this is {script}"
    assert found.err.startswith(f"tidy: {option} {target}: {problem}")
    assert len(found.err.splitlines()) == 1
    assert script.read_text("utf-8") == "print('ran')"


def test_a_report_does_not_replace_its_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": []}', "utf-8")
    link = tmp_path / "report.json"
    link.symlink_to(trace)
    found = tidy_report("-o", link, trace, cwd=tmp_path)
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        f"tidy: --output {link}: this is {trace}, which would be lost; name another file\n"
    )
    assert trace.read_text("utf-8") == '{"traceEvents": []}'


def test_a_recording_ends_when_it_is_large_enough(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "print(sys.gettrace())")
    found = tidy_run("--max-size", "20k", "--steps", "1000", script, "100", cwd=tmp_path)
    said = " ".join(found.out.split())
    assert found.out.startswith("ready\nNone\n")
    assert re.search(r"ended early: it had grown to \d+ MB; --max-size allows more", said)


def test_a_size_that_is_none_is_one_line(tmp_path: Path) -> None:
    found = tidy_run("--max-size", "much", "train.py", cwd=tmp_path)
    assert (found.code, found.out) == (2, "")
    assert "'much' is no size" in found.err
    assert len(found.err.splitlines()) == 1
