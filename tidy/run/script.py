"""From a script to its traces, or to the times of its steps."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..errors import UsageError, reason_of
from ..profiler.kineto import TraceFile
from ..progress import say
from ..trace import Trace, count_text
from ..trace.units import time_text
from .assembly import Assembly
from .child.notes import CHILDREN, NO_TORCH, PROBLEM, read_note
from .child.stages import steps_of_round
from .child.stopwatch import TIMES
from .folders import temporary_folder
from .made import assemble
from .options import RunOptions
from .process import run_child
from .recording import Recording, find_recordings

_FEWEST_STEPS = 3  # to compare
_AS_LONG_AS_TRAINING_MS = 1000  # of processor time; `git` and the like take less
_ELSEWHERE = "the steps ran on another thread than the main one; --all-threads records it"


class Made(NamedTuple):
    """A trace that was made, what it is of, and its file where one is wanted."""

    trace: Trace
    framework: str
    file: TraceFile | None


def record_once(options: RunOptions) -> tuple[Trace, str]:
    """Run a script; what was recorded, and the framework ("torch" or "runtime").

    Raises:
        UsageError: it cannot be started, fails, or leaves nothing to look at.
    """
    check_options(options)
    with temporary_folder() as folder:
        _run_well(options, folder)
        for made in make_traces(options, folder):
            return made.trace, made.framework
    raise UsageError(f"{options.shown}: nothing was recorded")


def time_once(options: RunOptions, corrections: list[str]) -> list[int]:
    """Run a script unrecorded and give the lengths of its steps in nanoseconds.

    A host that never waits runs ahead of its devices. What they need beyond the last step is
    spread over all steps, less a step that may be under way, so that a step is as long as the
    slower of both needs in the long run. The `warmup` steps at the beginning, and that to the
    first of them, are left out. What rules with the codes `corrections` find is corrected.

    Raises:
        UsageError: it cannot be started, fails, or has too few steps to compare.
    """
    with temporary_folder() as folder:
        _run_well(replace(options, corrections=corrections), folder)
        try:
            times = json.loads((folder / TIMES).read_text("utf-8"))
        except (OSError, ValueError):
            times = {"steps_ns": [], "done_ns": 0}
    ends = times["steps_ns"][options.warmup :]
    lengths = [end - start for start, end in pairwise(ends)]
    if len(lengths) < _FEWEST_STEPS:
        raise UsageError(
            f"{options.shown}: {len(times['steps_ns'])} optimizer steps are too few to compare; at"
            f" least {options.warmup + _FEWEST_STEPS + 1} are needed (--warmup {options.warmup})"
        )
    behind_ns = max(times["done_ns"] - ends[-1] - round(statistics.median(lengths)), 0)
    return [length + behind_ns // len(lengths) for length in lengths]


def _run_well(options: RunOptions, folder: Path) -> None:
    status = run_child(options, folder)
    if status:
        how = f" with {', '.join(options.corrections)} corrected" if options.corrections else ""
        raise UsageError(f"{options.shown} ended with status {status}{how}")


def check_options(options: RunOptions) -> None:
    """Look at the options before anything is run.

    Raises:
        UsageError: there is no such script, or they make no sense together.
    """
    script = Path(options.script)
    if not options.module and not script.exists() and options.python is None:
        raise UsageError(f"{options.script}: no such file")
    if options.device is not None:
        _check_device(options)
    if options.every:
        _check_every(options)


def _check_every(options: RunOptions) -> None:
    takes = steps_of_round(options.settings(""))
    if options.every <= takes:
        raise UsageError(
            f"--every {options.every}: a recording of --steps {options.steps} takes {takes} steps;"
            f" the next one can begin after {takes + 1} at the earliest"
        )
    if options.stop_after or options.is_launcher:
        what = "--stop-after" if options.stop_after else options.shown
        raise UsageError(f"--every does not go together with {what}")


def _check_device(options: RunOptions) -> None:
    from ..runtime.modelled.specs import find_spec, parse_kind

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


def why_nothing(options: RunOptions, status: int, folder: Path) -> str:
    """Say why a run left no trace."""
    if not folder.is_dir():
        return (
            f"{options.shown}: something removed the folder of the recording, {folder}: nothing to"
            " report (TMPDIR says where such folders are made)"
        )
    problem = read_note(str(folder), PROBLEM)
    if problem is not None:
        return f"{options.shown} {problem}"
    if read_note(str(folder), NO_TORCH) is not None and options.framework == "auto":
        return (
            f"{options.shown}: this Python has no torch: nothing to report"
            " (--framework runtime runs the script on tidy.runtime)"
        )
    return _why_unused(options, status, read_note(str(folder), CHILDREN))


def _why_unused(options: RunOptions, status: int, children_ms: str | None) -> str:
    """Say why neither framework was imported; `children_ms` is the note of the script's end."""
    which = {"torch": ": torch was not used", "runtime": ": tidy.runtime was not used"}
    what = options.shown + which.get(options.framework, " used neither torch nor tidy.runtime")
    of_children = _of_children(int(children_ms or 0))
    if of_children:
        return f"{what}; {of_children}"
    if status:
        return f"{options.shown} ended before it used torch or tidy.runtime: nothing to report"
    if children_ms is None and not options.is_launcher:  # a launcher leaves no note
        return (
            f"{what}; it left by os._exit, or became another program (os.exec...), which is not"
            " recorded: give tidy run that program"
        )
    return f"{what}: nothing to report"


def _of_children(children_ms: int, condition: str = "") -> str:
    """Say that processes which the script started are not recorded; nothing if they did little."""
    if children_ms < _AS_LONG_AS_TRAINING_MS:
        return ""
    return (
        f"processes that the script started took {time_text(children_ms * 1e6)} of processor time"
        f" and are not recorded: {condition}give tidy run what they run, start them as ranks (tidy"
        " run -m torch.distributed.run ...), or record in them with tidy.record()"
    )


def make_traces(options: RunOptions, folder: Path, status: int = 0) -> list[Made]:
    """Return the traces of all processes; for one of which there is none a line is said."""
    made = []
    for recording in [each for one in find_recordings(folder) for each in one.rounds()]:
        try:
            made.append(assemble_trace(recording, options, folder, status))
        except NothingRecorded as error:  # noqa: PERF203
            for line in error.lines:
                sys.stdout.flush()
                say(line)
    return made


class NothingRecorded(UsageError):
    """A recording holds nothing to look at; `lines` say why."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def assemble_trace(
    recording: Recording, options: RunOptions, folder: Path, status: int = 0
) -> Made:
    """Return the trace of one process, and its file where one is wanted.

    Raises:
        NothingRecorded: there is none.
    """
    rank = recording.folder.name if recording.folder != folder else ""
    script = recording.state.get("script") or options.shown
    title = f"{script}, {rank.replace('rank', 'rank ')}" if rank else options.shown
    file = None if options.trace is None else _trace_file(options, rank, recording.round)
    try:
        first = recording.first_step() if recording.round else options.after
        made = assemble(recording, first + options.warmup, options.quickest)
        notes = _shortfalls(recording, made.full, options, None if options.is_launcher else status)
        if made.full.op_count:
            more = {"traceName": recording.state.get("script", "")}
            trace = made.trace(title, more, notes)
            if file is not None:
                made.write(file)
            return Made(trace, recording.framework, file)
    except OSError as error:
        line = f"{title}: the trace cannot be put together in {folder}: {reason_of(error)}"
        raise NothingRecorded([line]) from None
    finally:
        if file is not None:
            file.close()
    lines = [f"{title}: {note}" for note in notes]
    if not recording.lost and recording.end(None) is None:
        lines.append(f"{title}: {_why_no_ops(recording, options)}")
    raise NothingRecorded(lines)


def _trace_file(options: RunOptions, rank: str, number: int) -> TraceFile:
    """Make the file where the trace of a process is wanted; `number` is the recording's."""
    target = Path(str(options.trace))
    if options.every:
        name, dot, rest = target.name.partition(".")
        target = target.with_name(f"{name}-{number + 1}{dot}{rest}")
    if options.is_launcher:
        with suppress(OSError):  # the file cannot be made then, either
            target.mkdir(parents=True, exist_ok=True)
        target = target / f"{rank or 'trace'}.pt.trace.json.gz"
    return TraceFile(target)


def _shortfalls(
    recording: Recording, full: Assembly, options: RunOptions, status: int | None
) -> list[str]:
    """Say what a recording lacks, why, and what to do about it, in a line each for the report."""
    ended_early = recording.end(status)
    notes = [] if ended_early is None else [f"the recording ended early: {ended_early}"]
    notes += [lost.text(reason) for reason, lost in recording.lost.items()]
    if options.device is not None:
        notes += _of_device(recording, full, options.device)
    if recording.state.get("own_profiler"):
        notes.append("the recording ended when the script started a profiler of its own")
    elif ended_early is None and not recording.lost and full.op_count:
        notes += _of_steps(recording, full, options)
    return notes


def _why_no_ops(recording: Recording, options: RunOptions) -> str:
    """Say why there is nothing to report where nothing went wrong."""
    why = "no op ran while it was recorded"
    counted = recording.state.get("counted", 0)
    if options.after and counted <= options.after:
        steps = count_text(counted, "optimizer step")
        return f"{why}: there were {steps}, and --after {options.after} leaves out the first ones"
    if recording.state.get("steps_elsewhere"):
        return f"{why}: {_ELSEWHERE}"
    other = recording.state.get("also_imported")
    if other is not None:
        name = {"torch": "PyTorch", "runtime": "tidy.runtime"}[other]
        return f"{why}; {name} is imported, too: --framework {other} records that"
    of_children = _of_children(recording.state.get("children_ms", 0))
    if of_children:
        return f"{why}; {of_children}"
    return f"{why}: nothing to report"


def _of_device(recording: Recording, full: Assembly, device: str) -> Iterator[str]:
    if recording.framework == "torch":
        yield (
            "--device has no effect on PyTorch; --framework runtime runs the script on tidy.runtime"
        )
    elif not full.has_modelled_work:
        yield (
            f"--device {device}: nothing ran on the modelled device while it was recorded;"
            ' .to("cuda") moves a model and its batches there'
        )


def _of_steps(recording: Recording, full: Assembly, options: RunOptions) -> Iterator[str]:
    """Steps that were wanted and are not there."""
    count = full.step_count
    wanted = options.warmup + options.steps
    is_time_over, is_large = (
        recording.round in recording.state.get(why, []) for why in ("out_of_time", "large")
    )
    time = f"{options.seconds:g} s"
    there = f"{max(count - options.warmup, 0)} of {count_text(options.steps, 'step')} recorded"
    if not count and recording.state.get("steps_elsewhere"):
        yield f"no steps are marked, since {_ELSEWHERE}"
    elif not count:
        when = f"in the {time} that were" if is_time_over else "while it was"
        longer = "--seconds records longer, and " if is_time_over else ""
        yield (
            f"no optimizer stepped {when} recorded, so no steps are marked; {longer}in a loop"
            " without an optimizer, step() of tidy.record marks the rounds"
        )
        of_children = _of_children(recording.state.get("children_ms", 0), "if they train, ")
        if of_children and not full.worker_batches:
            yield of_children
    elif count < wanted and is_time_over:
        yield f"{there} when the {time} were over; --seconds records longer"
    elif count < wanted and is_large:
        yield f"{there}, since they are large; a larger --max-size records more"
    elif count <= options.warmup:
        yield (
            f"the script ended after {count_text(count, 'step')}, which --warmup {options.warmup}"
            " does not count; --warmup 0 does"
        )
