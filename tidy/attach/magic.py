"""`%%tidy`: recording a cell of a notebook, after `%load_ext tidy`.

    %%tidy --steps 5
    for batch in loader:
        train(batch)

The cell runs as it would without: its variables are the notebook's, its last expression is shown,
and an exception of it ends the cell with its usual traceback. The report comes below it, and the
recording is kept as `_tidy`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from traceback import walk_stack
from typing import Any, TypeVar

import click

from ..cells import cell_name
from ..errors import TidyError
from .recorder import Recorder

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _number(
    name: str, kind: click.ParamType[Any], default: float, letter: str, text: str
) -> Callable[[_Function], _Function]:
    return click.option(
        name, type=kind, default=default, metavar=letter, show_default=True, help=text
    )


@click.command("%%tidy", context_settings={"help_option_names": ["-h", "--help"]})
@_number("--steps", click.IntRange(1), 10, "N", "Steps to record.")
@_number("--warmup", click.IntRange(0), 1, "N", "Steps before them that do not count.")
@_number("--after", click.IntRange(0), 0, "N", "Steps to leave out before those.")
@_number("--seconds", click.FloatRange(0, min_open=True), 60.0, "S", "The longest time to record.")
@click.option("--no-stack", "stack", flag_value=False, default=True, help="Record no lines.")
@click.option("--no-shapes", "shapes", flag_value=False, default=True, help="Nor shapes.")
@click.option("--no-memory", "memory", flag_value=False, default=True, help="Nor allocations.")
@click.option("--all-threads", is_flag=True, help="PyTorch: record ops of all threads.")
@click.option("--framework", type=click.Choice(["auto", "torch", "runtime"]), default="auto")
@click.option("--select", multiple=True, metavar="CODES", help="Check these rules only.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave out these rules.")
@click.option("--trace", metavar="FILE", help="Keep the trace (.json or .json.gz).")
def _options(**options: Any) -> dict[str, Any]:
    """Record the cell below: N optimizer steps, after a warm-up; then show the report.

    The recording is kept as `_tidy`: `_tidy.report()`, `_tidy.save("trace.json.gz")`.
    """
    return options


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%%tidy`: `%load_ext tidy` calls this."""

    def tidy(line: str, cell: str | None = None) -> None:
        record_cell(shell, line, cell)

    context = click.Context(_options, info_name="%%tidy", **_options.context_settings)
    tidy.__doc__ = _options.get_help(context)
    shell.register_magic_function(tidy, "line_cell", "tidy")
    if _with_a_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_with_a_body)


def _with_a_body(lines: list[str]) -> list[str]:
    """Give `%%tidy` an empty line below it where it stands alone.

    IPython calls no magic of a cell without a body, so that `%%tidy --help` would be an error.
    """
    alone = len(lines) == 1 and lines[0].split()[:1] == ["%%tidy"]
    return [f"{lines[0].rstrip()}\n", "\n"] if alone else lines


# An empty line is how a cell ends in a terminal, where one is still writing it.
_with_a_body.has_side_effects = True  # type: ignore[attr-defined]


def record_cell(shell: Any, line: str, cell: str | None) -> None:
    """Run a cell, record it, and show its report.

    Args:
        line: the options.
        cell: what stands below them; None after `%tidy`, which has none.

    Raises:
        IPython.core.error.UsageError: an option makes no sense, or it cannot be recorded.
        BaseException: what the cell raises.
    """
    from IPython.core.error import UsageError
    from IPython.display import display

    try:
        options = _options.main(shlex.split(line), prog_name="%%tidy", standalone_mode=False)
        if not isinstance(options, dict):  # --help was shown
            return
        if cell is None or not cell.strip():
            where = "write it below %%tidy" if cell is not None else "begin a cell with %%tidy"
            raise TidyError(f"there is nothing to record: {where}")
        rules = {name: options.pop(name) for name in ("select", "ignore")}
        trace = options.pop("trace")
        recorder = Recorder(**options, title="the cell")
        recorder.start()
    except click.ClickException as error:
        raise UsageError(f"%%tidy: {error.format_message()}") from None
    except (TidyError, ValueError) as error:
        raise UsageError(f"%%tidy: {error}") from None
    try:
        failure = _run(shell, cell)
    finally:
        recorder.stop()
    shell.user_ns["_tidy"] = recorder
    try:
        report = recorder.report(**rules)
        show: Any = display
        show({"text/plain": str(report), "text/html": report._repr_html_()}, raw=True)
        if trace is not None:
            recorder.save(trace)
    except TidyError as error:
        if failure is None:
            sys.stderr.write(f"tidy: {error}\n")
    if failure is not None:
        raise failure


def _run(shell: Any, cell: str) -> BaseException | None:
    """Run a cell as itself; what it raised, which shows the traceback that the cell alone has."""
    # The line of the magic was the cell's first, and the lines below it keep their numbers.
    source = cell if cell.lstrip().startswith("%%") else f"# %%tidy\n{cell}"
    shown: list[Any] = []
    show, name = shell._showtraceback, shell.compile.cache
    number = _number_of_cell()
    shell._showtraceback = lambda *shows: shown.append(shows[-1])
    if number is not None:
        shell.compile.cache = lambda code, _, **more: name(code, number, **more)
    try:
        result = shell.run_cell(source)
    finally:
        shell._showtraceback, shell.compile.cache = show, name
    failure: Any = result.error_before_exec or result.error_in_exec
    if failure is None or not shown:
        return failure  # type: ignore[no-any-return]
    if isinstance(failure, SyntaxError):  # of which IPython always shows who compiled it
        failure = type(type(failure).__name__, (Exception,), {})(*failure.args)
    with suppress(AttributeError):  # a class with slots: it shows our frames, too
        failure._render_traceback_ = lambda: shown[-1]
    return failure  # type: ignore[no-any-return]


def _number_of_cell() -> int | None:
    """The number of the cell that is running; IPython may count on before it runs."""
    names = (cell_name(frame.f_code.co_filename) for frame, _ in walk_stack(sys._getframe(1)))
    return next((int(name[3:-1]) for name in names if name is not None), None)  # of In[3]
