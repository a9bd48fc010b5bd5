"""The sorts of options that commands have: a number, a choice, a file, and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isnan
from threading import TIMEOUT_MAX
from typing import Any

import click

from ..page import USUAL_STEPS
from . import completion

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def file_size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the number of bytes in `5000000`, `5M` or `0.5 GB`; raise a usage error if it
    is none.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)B?\s*", value, re.IGNORECASE)
    nbytes = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if nbytes < 1:
        problem = f"{value!r} is no size, such as 5000000, 5M or 0.5G"
        raise click.BadParameter(problem, ctx, param)
    return nbytes


def percentage(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """0.05 for `5%` and for `5`; a usage error for what is no percentage."""
    if value is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%?\s*", value)
    if not match:
        raise click.BadParameter(f"{value!r} is no percentage, such as 5%", ctx, param)
    return float(match[1]) / 100


def no_nan(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Return the number; raise a usage error for `nan`, which is in each range of click's."""
    if isnan(value):
        raise click.BadParameter(f"{value!r} is no number", ctx, param)
    return value


def waiting_time(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Return seconds that Python can wait; `inf` is the longest of them."""
    return min(no_nan(ctx, param, value), TIMEOUT_MAX)


def page_steps(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """`("median", "3")` for `median,3`; a usage error for what is no step."""
    words = tuple(word.strip() for word in value.split(",") if word.strip())
    numbers = [word for word in words if word not in USUAL_STEPS]
    wrong = [word for word in numbers if not re.fullmatch(r"\d{1,9}", word)]
    if wrong or not words:
        problem = f"{value!r} is no list of steps, such as 3,7 or median,slowest"
        raise click.BadParameter(problem, ctx, param)
    return tuple(word if word in USUAL_STEPS else str(int(word)) for word in words)


Command = Callable[..., Any]
Option = Callable[[Command], Command]


def format_option(*forms: str, text: str = "Text for people or JSON for programs.") -> Option:
    """`--format`, the first of them by default."""
    return choice_option("--format form", forms, text)


def number_option(name: str, text: str, default: int | None = None, *, least: int = 0) -> Option:
    """Declare an option that is a whole number; a default that is not 0 is shown."""
    return click.option(
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=bool(default),
        metavar="N",
        help=text,
    )


def choice_option(
    names: str, words: Sequence[str], text: str, default: str | None = None
) -> Option:
    """Declare an option of several words, the first by default."""
    return click.option(
        *names.split(),
        type=click.Choice(words),
        default=default or words[0],
        show_default=True,
        help=text,
    )


def path_option(
    names: str,
    text: str,
    metavar: str = "FILE",
    complete: Any = completion.files,
    *,
    multiple: bool = False,
) -> Option:
    """Declare a path, which the shell completes, given once or several times."""
    return click.option(
        *names.split(), metavar=metavar, multiple=multiple, shell_complete=complete, help=text
    )


def codes_option(names: str, text: str) -> Option:
    """Codes of rules, given once or several times."""
    return path_option(names, text, "CODES", completion.codes, multiple=True)


def flag_option(names: str, text: str) -> Option:
    return click.option(*names.split(), is_flag=True, help=text)


def without_option(name: str, text: str) -> Option:
    """`--no-NAME`, which makes NAME false."""
    return click.option(
        f"--no-{name}", name, is_flag=True, callback=lambda _, __, given: not given, help=text
    )


def operands(name: str, metavar: str, *, required: bool = True, count: int = -1) -> Option:
    """Declare what stands on the command line without a name; -1 for any number of them."""
    return click.argument(
        name, nargs=count, required=required, metavar=metavar, shell_complete=completion.files
    )


def together(*options: Option) -> Option:
    """Combine several options, in the order in which help lists them."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give
