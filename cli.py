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

    tidy finds anti-patterns in a recorded run. For each it says where it is in the source, what it
    costs and what to write instead.
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

    TRACE is a file written by export_chrome_trace() or tensorboard_trace_handler() (JSON, plain or
    in gzip, zip or tar), a folder with such files, or - for standard input. The ranks of a
    distributed job are reported together. Summaries written by --summaries can be given instead of
    traces.
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
    """Show the report in the browser, with a timeline.

    \b
      tidy open trace.json.gz

    The page is one file and needs no network. To keep it, write `tidy report TRACE -o report.html`.
    """  # noqa: D301 - as above
    from tidy.commands.configured import report_options_of
    from tidy.commands.open_page import run_open

    return run_open(traces, report_options_of(options))


@cli.command()
@TRACES
@account_options
def account(traces: Sequence[str], **options: Any) -> int:
    """Show where the time of a trace went, to the nanosecond.

    \b
      tidy account trace.json.gz --by-line

    Each nanosecond of the steps belongs to one part: computation on a device, communication and
    copies that no computation hides, or idle time. Idle time is divided by its cause: what the
    thread that makes the next launch was doing. Steps unlike the others are left out and listed.
    """  # noqa: D301 - as above
    from tidy.commands.account import run_account

    return run_account(traces, **options)


@cli.command()
@TRACES
@flame_options
def flame(traces: Sequence[str], **options: Any) -> int:
    """Write folded stacks: time by Python frame, module and operator.

    \b
      tidy flame trace.json.gz -o trace.folded
      tidy flame --device trace.json.gz | flamegraph.pl > trace.svg

    Each line is a path from the outermost frame to the innermost, and the nanoseconds spent there
    in the steps that count. flamegraph.pl, speedscope and inferno read this form. A backward
    operator is placed below its forward operator. `tidy open` draws the same graph.
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

    The script needs no change. It runs as it does under `python SCRIPT ARGS`, with the same input,
    output and exit status, and may use PyTorch or tidy.runtime. If it fails, is interrupted or is
    killed, the report covers what was recorded until then.
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
    """Accept today's findings, so that only new ones count.

    \b
      tidy baseline trace.json.gz
      tidy baseline --run train.py --epochs 1
      tidy report trace.json --baseline tidy-baseline.json
      tidy baseline --prune t.json.gz  # remove what is gone

    Commit the file to your repository: it is sorted and has one entry for each finding, with its
    source and cost. With --baseline, or if the configuration names it, `tidy run` and `tidy report`
    count only findings that it lacks or that are clearly costlier now. Another call adds new
    findings; entries for which the traces hold no evidence stay.
    """  # noqa: D301 - as above
    from tidy.commands.baseline import run_baseline

    return run_baseline(command, **options)


@cli.command(epilog=exit_codes.VERIFY, context_settings=_BEFORE_A_SCRIPT)
@script_options
@verify_options
def verify(command: Sequence[str], **options: Any) -> int:
    """Measure what fixes gain, and compare with the predictions.

    \b
      tidy verify train.py --epochs 1
      tidy verify --finding TDY101 --runs 3 train.py

    The script runs once to be recorded. Then it is timed without recording: unchanged, and with
    each fix that needs no edit (workers and pinned memory of the loader, TF32, fused optimizers,
    gradients set to None, no synchronize() or empty_cache()). For rules about single ops, those ops
    are timed with the recorded shapes. Each run ends after --warmup and --steps optimizer steps.
    Files that the script writes are written in each run; its output goes to standard error.
    """  # noqa: D301 - as above
    from tidy.commands.verify import run_verify

    return run_verify(command, **options)


@cli.command(epilog=exit_codes.DIFF)
@diff_options
def diff(base: str, new: str, **options: Any) -> int:
    """Compare two runs: are steps longer, and why?

    \b
      tidy run --stop-after --trace base.json train.py
      git switch my-change
      tidy run --stop-after --trace new.json train.py
      tidy diff base.json new.json --fail-on-regression 5%

    BASE and NEW are each a trace, a folder with the traces of a job's ranks or of several runs of
    the script, or a report written by `tidy report --format json` (which has no ops and no memory).
    Steps and runs differ by chance, so differences are given as intervals. A change that all ops
    share is attributed to the machine, not to the script. Runs on different devices, with different
    inputs or recorded with different options are refused.
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
    """Show PyTorch's key_averages().table() of a trace.

    Each row sums up the events of one name: self and total time on CPU and device, calls, and
    memory and FLOPs if they were recorded. TRACE is the same as for `tidy report`.
    """
    from tidy.commands.table import run_table

    return run_table(traces, **options)


@cli.command()
@PATTERNS
@format_option("text", "json")
def rules(patterns: Sequence[str], form: str) -> None:
    """List the rules, each with the highest severity of its findings."""
    from tidy.commands.rules import list_rules

    click.echo(list_rules(patterns, form))


@cli.command()
@click.argument(
    "codes", nargs=-1, required=True, metavar="CODE...", shell_complete=completion.codes
)
@PATTERNS
def explain(codes: Sequence[str], patterns: Sequence[str]) -> None:  # fmt: skip
    """Explain rules: what they look for, what it costs, how to fix it.

    CODE is the code (TDY404) or the name (for-loop-indexing) of a rule, or the prefix of several
    codes (TDY1).
    """
    from tidy.commands.rules import explain_rules

    click.echo(explain_rules(codes, patterns))


@cli.command()
@config_options
def config(scripts: Sequence[str], **options: Any) -> None:
    """Print the configuration that applies, and which file sets it.

    \b
      tidy config train.py
      tidy config --schema > tidy.schema.json

    The nearest tidy.toml, or pyproject.toml with a table [tool.tidy], applies. tidy looks in the
    folder of the script, or else in the working directory, and in the folders above it up to the
    root of the repository. The output is itself such a file: it lists every key with its default,
    including the options of each rule.
    """  # noqa: D301 - as above
    from tidy.commands.config import show_config

    click.echo(show_config(scripts, **options))


@cli.command("new-rule")
@click.argument("name", shell_complete=completion.files)
@click.option("--check", is_flag=True, help="Test the rules in the file NAME on their examples.")
@click.option(
    "--code", metavar="ABC123", help="The code of the rule. By default the next free one."
)
@click.option(
    "--folder",
    metavar="DIR",
    default=".",
    show_default=True,
    shell_complete=completion.folders,
    help="Write the file into this folder.",
)
def new_rule(name: str, check: bool, code: str | None, folder: str) -> int:
    """Start a rule of your own: a file, and an example that fails.

    \b
      tidy new-rule repeated-item
      tidy new-rule --check repeated_item.py

    NAME says what is wrong, in words joined by hyphens. The example fails until the rule is
    written. With --check, NAME is a file or module with rules, and the exit code is 1 if an example
    fails.
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
