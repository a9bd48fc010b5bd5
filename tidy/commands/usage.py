"""What is wrong with a command line, as one line: `tidy: where: what: what to do`."""

from __future__ import annotations

import os
from difflib import get_close_matches

import click

from ..errors import TidyError, reason_of


def error_text(error: Exception) -> str | None:
    """Return what to say of an error that is the user's or the system's; None for one of
    our own.
    """
    if isinstance(error, click.ClickException):
        is_help = type(error).__name__ == "NoArgsIsHelpError"
        return error.format_message() if is_help else f"tidy: {usage_line(error)}"
    if isinstance(error, TidyError):
        return f"tidy: {error}"
    if isinstance(error, OSError):
        if error.filename is None and _is_folder_gone():
            return "tidy: the working folder is no longer there; change to one that is"
        return f"tidy: {error.filename or 'standard output'}: {reason_of(error)}"
    if isinstance(error, MemoryError):
        return "tidy: not enough memory; give fewer traces at a time, or record fewer steps"
    return None


def _is_folder_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - Path.cwd() is the same
    except FileNotFoundError:
        return True
    return False


def usage_line(error: click.ClickException) -> str:
    """Return the line for an error of the command line, without the program's name before it."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "tidy"
    command = path.partition(" ")[2]
    help_ = f"`{path} --help` shows how"
    if isinstance(error, click.NoSuchOption):
        known = [] if ctx is None else [o for p in ctx.command.get_params(ctx) for o in p.opts]
        todo = _did_you_mean(error.option_name, known, help_)
        return _line(command, error.option_name, "no such option", todo)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        if isinstance(error.param, click.Argument):
            name = (error.param.metavar or error.param.human_readable_name).split()[0]
            return _line(command, "", f"no {name.rstrip('.')} given", help_)
        return _line(command, error.param.opts[0], "it has to be given", help_)
    if isinstance(error, click.BadOptionUsage):
        return _line(command, error.option_name, "it needs a value", help_)
    what = error.message if isinstance(error, click.BadParameter) else error.format_message()
    where = ""
    if isinstance(error, click.BadParameter) and error.param is not None:
        where = max(error.param.opts, key=len)
    what = " ".join(what.split()).rstrip(".")
    return _line(command, where, what[:1].lower() + what[1:], help_)


def no_such_command(name: str, known: list[str]) -> str:
    """Return the line for a command that there is not."""
    return _line(name, "", "no such command", _did_you_mean(name, known, "`tidy --help` lists all"))


def _did_you_mean(name: str, known: list[str], help_: str) -> str:
    alike = get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(alike)}? ({help_})" if alike else help_


def _line(command: str, where: str, what: str, todo: str) -> str:
    place = " ".join(part for part in (command, where) if part)
    return ": ".join(part for part in (place, what, todo) if part)
