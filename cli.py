"""The command line: parse, call, print, exit code. Imports stand inside the commands, so that
`tidy --help` starts at once.
"""

from __future__ import annotations

import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

import click

from tidy._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidy.patterns.registry import PatternClass

_EXIT_CODES = """\b
Exit codes:
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  could not do the job: usage, unreadable trace, crashed rule
"""


class _Group(click.Group):
    """Commands whose output may be cut short by who reads it (`tidy rules | head`)."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            ctx.exit(141)  # as a shell counts SIGPIPE


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
@click.version_option(__version__, prog_name="tidy", message="%(prog)s %(version)s")
def cli() -> None:
    """A linter for training runs.

    Reads what PyTorch's profiler recorded, finds anti-patterns, and says for each where it is in
    the source, what it costs and what to write instead.

    \b
      tidy run train.py               record a script and check it
      tidy report trace.json.gz       check a trace of torch.profiler
      tidy explain TDY404             what a rule looks for and why
    """  # noqa: D301 - click's mark of what is not to be wrapped


# The options of `report`, which `run` has too.
_REPORT_OPTIONS = (
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people or for programs (docs/report.schema.json).",
    ),
    click.option(
        "--output", "-o", metavar="FILE", help="Write the report there, not to the terminal."
    ),
    click.option(
        "--select",
        metavar="CODES",
        multiple=True,
        help="Run only these rules: codes, prefixes (TDY4) or names, separated by commas.",
    ),
    click.option("--ignore", metavar="CODES", multiple=True, help="Leave these rules out."),
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "info", "never"]),
        default="warning",
        show_default=True,
        help="The least severity that makes the exit code 1.",
    ),
    click.option(
        "--patterns",
        metavar="FILE_OR_MODULE",
        multiple=True,
        help="Load further rules from a Python file or module.",
    ),
    click.option(
        "--name", metavar="REGEX", help="Also list the events whose name matches (TDY000)."
    ),
    click.option(
        "--top",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        metavar="N",
        help="Show the N findings that matter most; 0 shows all. JSON always has all.",
    ),
)


def _report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_REPORT_OPTIONS):
        command = option(command)
    return command


@cli.command(epilog=_EXIT_CODES)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@_report_options
def report(traces: Sequence[str], **options: Any) -> int:  # fmt: skip
    """Check traces that PyTorch's profiler recorded.

    TRACE is a file that export_chrome_trace() or tensorboard_trace_handler() wrote (JSON, plain or
    in gzip or zip), a folder with such files, or - for standard input. The ranks of a distributed
    job are reported together.

    \b
      with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:
          train_some_steps()
      prof.export_chrome_trace("trace.json.gz")
    """  # noqa: D301 - as above
    from tidy.command import ReportOptions, run_report

    return run_report(traces, ReportOptions(**options))


_RUN_EXIT_CODES = """\b
Exit codes:
  the script's own where it fails, 128 + N where signal N ended it; else
  0  nothing at or above the threshold of --fail-on
  1  findings
  2  could not do the job: usage, neither framework used, nothing recorded
"""


@cli.command(
    epilog=_RUN_EXIT_CODES,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
)
@click.argument("command", nargs=-1, required=True, metavar="SCRIPT [ARGS]...")
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module, as for python -m.")
@click.option(
    "--python", metavar="PATH", help="Run with this Python: a program or a virtual environment."
)
@click.option(
    "--framework",
    type=click.Choice(["auto", "runtime", "torch"]),
    default="auto",
    show_default=True,
    help="What to record: what the script imports first, or one. With runtime, `import torch` gives"
    " tidy.runtime.",
)
@click.option(
    "--device",
    metavar="KIND[:N]",
    help="Give tidy.runtime N modelled CUDA devices: v100, t4, a100-40, a100-80, l4, h100, h200,"
    " b200 or generic. numpy computes; the device's times come from a model.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Record N steps of the first optimizer; then the script goes on at full speed.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Recorded before them, but not counted as steps. The first reaches from the import of the"
    " framework to the end of the first optimizer step.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60,
    show_default=True,
    metavar="S",
    help="Record no longer than this.",
)
@click.option(
    "--stop-after", is_flag=True, help="End the script, too, when the steps are recorded."
)
@click.option(
    "--trace", metavar="FILE", help="Keep the trace (.json or .json.gz); of ranks, a folder."
)
@click.option("--no-stack", is_flag=True, help="Record no Python frames and lines: cheaper.")
@click.option("--no-shapes", is_flag=True, help="Record no input shapes.")
@click.option("--no-memory", is_flag=True, help="Record no allocations.")
@click.option(
    "--all-threads",
    is_flag=True,
    help="PyTorch: record ops of all threads of the script. It then records no memory.",
)
@_report_options
def run(
    command: Sequence[str], no_stack: bool, no_shapes: bool, no_memory: bool, **options: Any
) -> int:
    """Run a training script, record it, and check what was recorded.

    The script needs no change: it runs as under `python SCRIPT ARGS`, with what it reads, writes
    and gives back. It may use PyTorch or tidy.runtime. What was recorded until then is reported
    also where the script fails, is interrupted or killed.

    \b
      tidy run train.py --epochs 1
      tidy run --steps 5 --stop-after train.py
      tidy run --device a100 train_gpu.py          without a GPU: its times are modelled
      tidy run --trace train.json.gz -m package.train
      tidy run --trace ranks/ -m torch.distributed.run --nproc_per_node 2 ddp.py
    """  # noqa: D301 - as above
    from tidy.command import ReportOptions
    from tidy.launch import RunOptions, run_script

    keys = ("form", "output", "select", "ignore", "fail_on", "patterns", "name", "top")
    report = ReportOptions(**{key: options.pop(key) for key in keys})
    json_to_stdout = report.form == "json" and report.output in (None, "-")
    recorded: dict[str, Any] = {
        "stack": not no_stack,
        "shapes": not no_shapes,
        "memory": not no_memory,
    }
    return run_script(RunOptions(command, to_stderr=json_to_stdout, **recorded, **options), report)


@cli.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option(
    "--sort-by",
    metavar="KEY",
    help="cpu_time_total, self_device_time_total, self_cpu_memory_usage, count, ...; by default "
    "the self time on the device, or on the CPU where no device was recorded.",
)
@click.option("--group-by-shape", is_flag=True, help="A row for each combination of input shapes.")
@click.option(
    "--group-by-stack",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="A row for each combination of the N innermost Python frames.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show N rows; 0 shows all. 20 by default, and all in JSON and CSV.",
)
@click.option("--top-level", is_flag=True, help="Leave out what only runs inside other rows.")
@click.option(
    "--name-width",
    type=click.IntRange(min=0),
    default=55,
    show_default=True,
    metavar="N",
    help="Cut longer names; 0 cuts none.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv"]),
    default="text",
    show_default=True,
    help="For people or for programs (docs/table.md).",
)
@click.option("--output", "-o", metavar="FILE", help="Write there, not to the terminal.")
def table(traces: Sequence[str], **options: Any) -> int:  # fmt: skip
    """Show where the time of a trace went: PyTorch's key_averages().table().

    A row is all events with one name: self and total time on CPU and device, calls, and memory and
    FLOPs where they were recorded. TRACE is what `tidy report` takes.
    """
    from tidy.table_command import run_table

    return run_table(traces, **options)


@cli.command()
@click.option(
    "--patterns",
    metavar="FILE_OR_MODULE",
    multiple=True,
    help="Load further rules from a Python file or module.",
)
def rules(patterns: Sequence[str]) -> None:  # fmt: skip
    """List the rules."""
    from tidy.patterns.registry import load_patterns

    for pattern in load_patterns(patterns):
        click.echo(f"{pattern.code}  {click.style(pattern.slug(), bold=True)}")
        click.echo(click.wrap_text(pattern.summary(), 80, "        ", "        "))


@cli.command()
@click.argument("code")
@click.option(
    "--patterns",
    metavar="FILE_OR_MODULE",
    multiple=True,
    help="Load further rules from a Python file or module.",
)
def explain(code: str, patterns: Sequence[str]) -> None:  # fmt: skip
    """Say what a rule looks for, what it costs and how to fix it.

    CODE is the code (TDY404) or the name (for-loop-indexing) of the rule.
    """
    from tidy.patterns.registry import find_pattern, load_patterns

    _explain(find_pattern(code, load_patterns(patterns)))


def _explain(pattern: PatternClass) -> None:
    from tidy.patterns.document import explain_text

    click.echo(explain_text(pattern))


def main() -> None:
    """The console script: what goes wrong is one line and an exit code, never a traceback."""
    from tidy.errors import TidyError

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, StringIO())
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    code: int
    try:
        code = cli.main(prog_name="tidy", standalone_mode=False) or 0
    except click.exceptions.Abort:
        click.echo("tidy: interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except TidyError as error:
        click.echo(f"tidy: {error}", err=True)
        code = error.exit_code
    except OSError as error:
        where = error.filename or "standard output"
        click.echo(f"tidy: {where}: {(error.strerror or str(error)).lower()}", err=True)
        code = TidyError.exit_code
    except Exception as error:
        if os.environ.get("TIDY_TRACEBACK"):
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        click.echo(f"tidy: internal error: {text} (TIDY_TRACEBACK=1 shows where)", err=True)
        code = TidyError.exit_code
    _let_go_of_output()
    sys.exit(code)


def _let_go_of_output() -> None:
    """What cannot be written was said already; Python would say it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
