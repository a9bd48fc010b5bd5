"""`python -m tidy.runtime.ops show mul`: an operator's row, and the code that is made of it."""

from __future__ import annotations

import argparse
import difflib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import methods
from .make.function_source import function_source
from .make.node_source import node_source
from .make.rows import Op
from .make.table import PUBLIC, TABLE

assert methods  # which loads every module that declares operators


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; its exit status, 2 where there is no such operator."""
    parser = argparse.ArgumentParser(prog="python -m tidy.runtime.ops", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="print an operator's row and its generated code")
    told = "of an operator, as `mul`, `mul_`, `add.to` or `aten::mul`; without it all are listed"
    show.add_argument("name", nargs="?", help=told)
    name: str | None = parser.parse_args(arguments).name
    lines = listing() if name is None else shown(name.removeprefix("aten::"))
    if not lines:
        near = difflib.get_close_matches(str(name), listing(), 4)
        also = f"; there are {', '.join(near)}" if near else ""
        sys.stderr.write(f"no operator {name!r}{also}: `show` without a name lists all\n")
        return 2
    try:
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
    return 0


def listing() -> list[str]:
    """Return the names of all operators, those of rows as PyTorch writes overloads: `add.to`."""
    return sorted({*map(_name, TABLE.values()), *_written_in_python()})


def shown(name: str) -> list[str]:
    """Return the lines about all operators of a name; [] if there is none."""
    names = {key: (key, _name(op), _name(op).partition(".")[0]) for key, op in TABLE.items()}
    rows = [TABLE[key].parse() for key in TABLE if name in names[key]]
    lines = [line for op in rows for line in _generated(op)]
    if name in (written := _written_in_python()):
        lines += inspect.getsource(written[name]).splitlines()
    return lines


def _name(op: Op) -> str:
    return op.full_name.removeprefix("aten::")


def _written_in_python() -> dict[str, Callable[..., Any]]:
    calls = {name: call for place in PUBLIC.values() for name, call in place.items()}
    unwrapped = {n: inspect.unwrap(call) for n, call in calls.items() if not hasattr(call, "op")}
    return {name: call for name, call in unwrapped.items() if inspect.isfunction(call)}


def _generated(op: Op) -> Iterator[str]:
    yield from (f"# A row of {op.space['__name__']}, of which is made what follows:", "")
    yield from (f"[{' '.join(sorted(op.flags))}]", *op.row.split("\n"), "")
    yield from (f"# {op.file()}", "", *function_source(op).split("\n"), "")
    base = TABLE[op.key[:-1]].parse() if op.in_place else op
    if base.differentiable and not op.is_composite:
        yield from (f"# {base.file('backward')}", "", *node_source(base).split("\n"), "")


if __name__ == "__main__":
    raise SystemExit(main())
