"""The command line: parse, call, print, exit code. Imports stand inside the commands, so that
`tidy --help` starts at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from io import StringIO
from typing import TYPE_CHECKING, Any

import click

from tidy._version import __version__
from tidy.commands import completion, exit_codes
from tidy.commands.command import Commands, ScriptOrFiles
from tidy.commands.option_kinds import format_option
from tidy.commands.options import (
    PATTERNS,
    SUMMARIES,
    TRACES,
    account_options,
    baseline_options,
    config_options,
    diff_options,
    flame_options,
    open_options,
    report_options,
    report_traces,
    run_options,
    script_options,
    table_options,
    verify_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

# HTML Tidy is called `tidy`, too: then the package's name calls this one.
_SECOND_NAME = "torchtidy"


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=exit_codes.REPORT,
)
@click.version_option(
    __version__, "--version", "-V", prog_name="tidy", message="%(prog)s %(version)s"
)
def cli() -> None:
    """A linter for training runs.

    \b
      tidy run train.py       record a script and check it
      tidy report trace.json  check a trace of torch.profiler
      tidy explain TDY404     what a rule looks for and why

    Reads what PyTorch's profiler recorded, finds anti-patterns, and says for each where it is in
    the source, what it costs and what to write instead.
    """  # noqa: D301 - click's mark of what is not to be wrapped


@cli.command(epilog=exit_codes.REPORT)
@report_traces
@report_options
@SUMMARIES
def report(traces: Sequence[str], recover: bool, **options: Any) -> int:  # fmt: skip
    """Check traces that PyTorch's profiler recorded.

    \b
      with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:
          train_some_steps()
      prof.export_chrome_trace("trace.json.gz")

    TRACE is a file that export_chrome_trace() or tensorboard_trace_handler() wrote (JSON, plain or
    in gzip, zip or tar), a folder with such files, or - for standard input. The ranks of a
    distributed job are reported together. Summaries that --summaries wrote stand for traces.
    """  # noqa: D301 - as above
    from tidy.commands.configured import report_options_of

    checked = report_options_of(options)
    if recover:
        from tidy.commands.recover import run_recover

        return run_recover(traces, checked)
    if not traces:
        from tidy.errors import UsageError

        raise UsageError("report: no TRACE given: `tidy report --help` shows how")
    from tidy.commands.report import run_report

    return run_report(traces, checked)


@cli.command("open")
@TRACES
@open_options
def open_page(traces: Sequence[str], **options: Any) -> int:
    """Show the report as a page in the browser: where the time goes, findings, a timeline.

    \b
      tidy open trace.json.gz

    The page is a file of its own, which needs no network; `tidy report TRACE -o report.html` writes
    it where it is wanted.
    """  # noqa: D301 - as above
    from tidy.commands.configured import report_options_of
    from tidy.commands.open_page import run_open

    return run_open(traces, report_options_of(options))


@cli.command()
@TRACES
@account_options
def account(traces: Sequence[str], **options: Any) -> int:
    """Say where the time of a trace went, to the nanosecond.

    \b
      tidy account trace.json.gz --by-line

    Each nanosecond of the steps falls to one part: what a device computes, communication and copies
    that nothing hides, and idle time by its cause, which is what the thread that makes the next
    launch was doing. Steps that are unlike the others are left out, and said.
    """  # noqa: D301 - as above
    from tidy.commands.account import run_account

    return run_account(traces, **options)


@cli.command()
@TRACES
@flame_options
def flame(traces: Sequence[str], **options: Any) -> int:
    """Write the time by Python frame, module and operator as folded stacks.

    \b
      tidy flame trace.json.gz -o trace.folded
      tidy flame --device trace.json.gz | flamegraph.pl > trace.svg

    A line is a path from the outermost frame to the innermost one, and the nanoseconds in it, of
    the steps that count: what flamegraph.pl, speedscope and inferno read. A backward operator
    stands below its forward. `tidy open` draws the same.
    """  # noqa: D301 - as above
    from tidy.commands.flame import run_flame

    return run_flame(traces, **options)


# What stands behind the script is the script's.
_BEFORE_A_SCRIPT = {"allow_interspersed_args": False, "ignore_unknown_options": False}


@cli.command(epilog=exit_codes.RUN, context_settings=_BEFORE_A_SCRIPT)
@script_options
@run_options
@report_options
def run(command: Sequence[str], **options: Any) -> int:
    """Run a training script, record it, and check what was recorded.

    \b
      tidy run train.py --epochs 1
      tidy run --steps 5 --stop-after train.py
      tidy run --device a100 train_gpu.py  # without a GPU
      tidy run --trace train.json.gz -m package.train
      tidy run --trace ranks/ -m torch.distributed.run ddp.py

    The script needs no change: it runs as under `python SCRIPT ARGS`, with what it reads, writes
    and gives back. It may use PyTorch or tidy.runtime. What was recorded until then is reported
    also where the script fails, is interrupted or killed.
    """  # noqa: D301 - as above
    from tidy.commands.configured import report_options_of
    from tidy.commands.run import run_script
    from tidy.run import RunOptions

    script = None if options["module"] else command[0]
    report = report_options_of(options, script)
    return run_script(RunOptions(command, to_stderr=report.uses_stdout_alone, **options), report)


@cli.command(cls=ScriptOrFiles, epilog=exit_codes.BASELINE, context_settings=_BEFORE_A_SCRIPT)
@baseline_options
def baseline(command: Sequence[str], **options: Any) -> int:
    """Write down what is found, so that only what is new counts from then on.

    \b
      tidy baseline trace.json.gz
      tidy baseline --run train.py --epochs 1
      tidy report trace.json --baseline tidy-baseline.json
      tidy baseline --prune trace.json.gz  # what is gone

    The file is for the repository: sorted, a finding an entry, with the source and the cost. Named
    by --baseline or by the configuration, it makes `tidy run` and `tidy report` count only what it
    does not have, or what is clearly costlier now. Called again, it puts in what is new; entries
    that these traces say nothing about stay.
    """  # noqa: D301 - as above
    from tidy.commands.baseline import run_baseline

    return run_baseline(command, **options)


@cli.command(epilog=exit_codes.VERIFY, context_settings=_BEFORE_A_SCRIPT)
@script_options
@verify_options
def verify(command: Sequence[str], **options: Any) -> int:
    """Measure what fixes gain, beside what was predicted.

    \b
      tidy verify train.py --epochs 1
      tidy verify --finding TDY101 --runs 3 train.py

    The script is run once to record it, and then with nothing recorded: as it stands, and with each
    correction that can be switched on from outside (workers and pinned memory of the loader, TF32,
    fused optimizers, gradients set to None, no synchronize() or empty_cache()). Rules about single
    ops time those with the recorded shapes. Each run ends after --warmup and --steps optimizer
    steps; what the script writes, it writes each time. Its output goes to standard error.
    """  # noqa: D301 - as above
    from tidy.commands.verify import run_verify

    return run_verify(command, **options)


@cli.command(epilog=exit_codes.DIFF)
@diff_options
def diff(base: str, new: str, **options: Any) -> int:
    """Compare two runs: did steps become longer, and what made them so?

    \b
      tidy run --stop-after --trace base.json train.py
      git switch my-change
      tidy run --stop-after --trace new.json train.py
      tidy diff base.json new.json --fail-on-regression 5%

    BASE and NEW are a trace each, a folder with the traces of a job's ranks or of several runs of
    the script, or a report that `tidy report --format json` wrote (which has no ops and no memory).
    What a comparison says of steps and ops is an interval, since steps differ by chance, and so do
    runs: what all ops have in common is the machine's and not the script's. Runs on different
    devices, of different inputs or recorded in different ways are refused.
    """  # noqa: D301 - as above
    from dataclasses import replace

    from tidy.commands.configured import report_options_of
    from tidy.commands.diff import run_diff

    # Files that the configuration names are those of reports.
    printed = {name: options[name] for name in ("form", "output")}
    report = replace(report_options_of(options), **printed)
    return run_diff(base, new, options=report, **options)


@cli.command()
@TRACES
@table_options
def table(traces: Sequence[str], **options: Any) -> int:  # fmt: skip
    """Show where the time of a trace went: PyTorch's key_averages().table().

    A row is all events with one name: self and total time on CPU and device, calls, and memory and
    FLOPs where they were recorded. TRACE is what `tidy report` takes.
    """
    from tidy.commands.table import run_table

    return run_table(traces, **options)


@cli.command()
@PATTERNS
@format_option("text", "json")
def rules(patterns: Sequence[str], form: str) -> None:
    """List the rules, each with the severity that its findings have at most."""
    from tidy.commands.rules import list_rules

    click.echo(list_rules(patterns, form))


@cli.command()
@click.argument(
    "codes", nargs=-1, required=True, metavar="CODE...", shell_complete=completion.codes
)
@PATTERNS
def explain(codes: Sequence[str], patterns: Sequence[str]) -> None:  # fmt: skip
    """Say what rules look for, what it costs and how to fix it.

    CODE is the code (TDY404) or the name (for-loop-indexing) of a rule, or the beginning of several
    codes (TDY1).
    """
    from tidy.commands.rules import explain_rules

    click.echo(explain_rules(codes, patterns))


@cli.command()
@config_options
def config(scripts: Sequence[str], **options: Any) -> None:
    """Print what holds here, or for a script, and which file says so.

    \b
      tidy config train.py
      tidy config --schema > tidy.schema.json

    The nearest tidy.toml, or pyproject.toml with a table [tool.tidy], holds, upwards from the
    script or the working directory up to the root of the repository. The output is such a file: it
    lists every key, also the options of each rule, with its default.
    """  # noqa: D301 - as above
    from tidy.commands.config import show_config

    click.echo(show_config(scripts, **options))


@cli.command("new-rule")
@click.argument("name", shell_complete=completion.files)
@click.option("--check", is_flag=True, help="NAME is a file of rules: try them on their examples.")
@click.option(
    "--code", metavar="ABC123", help="The code of the rule; by default the next free one."
)
@click.option(
    "--folder",
    metavar="DIR",
    default=".",
    show_default=True,
    shell_complete=completion.folders,
    help="Write the file there.",
)
def new_rule(name: str, check: bool, code: str | None, folder: str) -> int:
    """Write a file for a rule of your own, with an example that fails until the rule is written.

    \b
      tidy new-rule repeated-item
      tidy new-rule --check repeated_item.py

    NAME says what is wrong, in words with hyphens. With --check it is a file or module of rules,
    and the exit code is 1 where an example does not hold.
    """  # noqa: D301 - as above
    from tidy.commands.new_rule import check_rules, write_rule

    lines, exit_code = check_rules(name) if check else (write_rule(name, folder, code), 0)
    click.echo("\n".join(lines))
    return exit_code


def main(interruptible: AbstractContextManager[None] = nullcontext()) -> None:  # noqa: B008
    """Parse, call and exit: what goes wrong is one line and an exit code, never a traceback.

    Args:
        interruptible: the part in which Ctrl-C raises `KeyboardInterrupt`; see `__main__.py`.
    """
    from tidy.errors import TidyError

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, StringIO())
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    code: int
    called = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib takes a while to load
    try:
        prog_name = _SECOND_NAME if called.startswith(_SECOND_NAME) else "tidy"
        with interruptible:
            code = cli.main(prog_name=prog_name, standalone_mode=False) or 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("tidy: interrupted", err=True)
        code = 130
    except Exception as error:
        from tidy.commands.usage import error_text

        text = error_text(error)
        if text is None and os.environ.get("TIDY_TRACEBACK"):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        internal = f"tidy: internal error: {what} (TIDY_TRACEBACK=1 shows where)"
        click.echo(internal if text is None else text, err=True)
        code = getattr(error, "exit_code", TidyError.exit_code)
    _let_go_of_output()
    sys.exit(code)


def _let_go_of_output() -> None:
    """What cannot be written was said already; Python would say it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
