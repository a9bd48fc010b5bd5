"""From a script to a report and an exit code."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..command import ReportOptions, Shown, run_report
from ..errors import TidyError, UsageError
from ..report.units import count_text, printable
from .child.watch import NO_TORCH
from .merge import Merged, write_trace
from .options import RunOptions
from .process import run_child
from .recording import Recording, find_recordings

_NOT_SLOWER = "did not make the steps slower"


@dataclass(frozen=True)
class _Made:
    """A trace that was made, and what to say of it."""

    path: Path
    shown: Shown


def run_script(options: RunOptions, report: ReportOptions) -> int:
    """Run, record and report. Gives the script's own status where it failed, else the report's.

    Raises:
        TidyError: the options make no sense, or the script cannot be started.
    """
    report.rules()
    _check(options)
    folder = Path(tempfile.mkdtemp(prefix=f"tidy-run-{os.getpid()}-"))
    try:
        status = run_child(options, folder)
        try:
            code = _report(options, report, folder, status)
        except TidyError as error:
            if not status:
                raise
            _say(str(error))  # the script's own status is what counts
            code = error.exit_code
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return status or code


def _check(options: RunOptions) -> None:
    script = Path(options.script)
    if not options.module and not script.exists() and options.python is None:
        raise UsageError(f"{options.script}: no such file")
    if options.trace is not None and not options.is_launcher and Path(options.trace).is_dir():
        raise UsageError(f"--trace {options.trace}: this is a folder; name a file in it")
    if options.device is not None:
        _check_device(options)


def _check_device(options: RunOptions) -> None:
    from ..runtime.cuda.specs import find_spec
    from ..runtime.cuda.state import parse_kind

    if options.framework == "torch":
        raise UsageError(
            "--device: PyTorch has the devices of this machine; --framework runtime runs the script"
            " on tidy.runtime, which has modelled ones"
        )
    try:
        kind, _ = parse_kind(str(options.device))
        find_spec(kind)
    except ValueError as error:
        raise UsageError(f"--device {options.device}: {error}") from None


def _report(options: RunOptions, report: ReportOptions, folder: Path, status: int) -> int:
    recordings = find_recordings(folder)
    made = []
    for recording in recordings:
        one = _make(recording, options, folder)
        if one is not None:
            made.append(one)
    if not recordings:
        _say(_nothing(options, status, (folder / NO_TORCH).exists()))
    if not made:
        return TidyError.exit_code
    _keep(made, options)
    shown = {str(each.path): each.shown for each in made}
    sys.stdout.write("\n" if report.form == "text" and report.output in (None, "-") else "")
    return run_report([*shown], report, shown)


def _nothing(options: RunOptions, status: int, lacks_torch: bool) -> str:
    if lacks_torch and options.framework == "auto":
        return (
            f"{options.shown}: this Python has no torch: nothing to report"
            " (--framework runtime runs the script on tidy.runtime)"
        )
    if status:
        return f"{options.shown} ended before it used torch or tidy.runtime: nothing to report"
    wanted = {"torch": "torch was not", "runtime": "tidy.runtime was not"}.get(options.framework)
    if wanted:
        return f"{options.shown}: {wanted} used: nothing to report"
    return f"{options.shown} used neither torch nor tidy.runtime: nothing to report"


def _make(recording: Recording, options: RunOptions, folder: Path) -> _Made | None:
    """The trace of one process; None, after a line, where there is none."""
    rank = recording.folder.name if recording.folder != folder else ""
    path = folder / f"{rank or 'trace'}.pt.trace.json"
    script = recording.state.get("script") or options.shown
    title = f"{script}, {rank.replace('rank', 'rank ')}" if rank else options.shown
    try:
        merged = write_trace(recording, options.warmup, path, _metadata(recording))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        _say(f"{title}: the trace cannot be put together in {folder}: {reason}")
        return None
    notes = _notes(recording, merged, options)
    if merged.pieces and merged.op_count:
        return _Made(path, Shown(title, notes))
    for note in notes:
        _say(f"{title}: {note}")
    if not recording.problem and not recording.lost:
        _say(f"{title}: no op ran while it was recorded: nothing to report")
    return None


def _metadata(recording: Recording) -> dict[str, Any]:
    def slowdown(merged: Merged) -> float | None:
        found = recording.slowdown(merged.steps_ns)
        return None if found is None else round(found[0], 3)

    return {"traceName": recording.state.get("script", ""), "tidy_recording_slowdown": slowdown}


def _notes(recording: Recording, merged: Merged, options: RunOptions) -> list[str]:
    notes = []
    found = recording.slowdown(merged.steps_ns)
    if found is not None:
        ratio, recorded, after = found
        slower = f"made the steps {ratio:.1f} times slower" if ratio >= 1.05 else _NOT_SLOWER
        notes.append(f"recording {slower} (median of {recorded} recorded, {after} not)")
    if recording.problem:
        notes.append(f"the recording ended early: {recording.problem}")
    if recording.lost:
        parts = count_text(recording.lost, "part")
        notes.append(f"{parts} of the recording left out: it could not be written whole")
    if options.device is not None and recording.framework == "torch":
        notes.append(
            "--device has no effect on PyTorch; --framework runtime runs the script on tidy.runtime"
        )
    if recording.state.get("own_profiler"):
        notes.append("the recording ended when the script started a profiler of its own")
    return notes


def _keep(made: list[_Made], options: RunOptions) -> None:
    """Copy the traces to where they are wanted; where that fails one line says so."""
    if options.trace is None:
        return
    for each in made:
        target = Path(options.trace)
        try:
            if options.is_launcher:
                target.mkdir(parents=True, exist_ok=True)
                target = target / f"{each.path.name}.gz"
            _copy(each.path, target)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            _say(f"--trace {target}: cannot be written: {reason}")


def _copy(source: Path, target: Path) -> None:
    import gzip

    with source.open("rb") as read:
        if target.name.endswith(".gz"):
            with gzip.open(target, "wb", compresslevel=5) as write:
                shutil.copyfileobj(read, write)
        else:
            with target.open("wb") as plain:
                shutil.copyfileobj(read, plain)


def _say(message: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"tidy: {printable(message)}\n")
