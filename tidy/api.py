"""`tidy.load` and `tidy.check`: what the command line does, from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from .errors import PatternLoadError, UnknownPattern
from .patterns.base import Pattern
from .patterns.registry import load_patterns, select_patterns
from .patterns.rules.named_event import NamedEvent
from .patterns.runner import run_patterns
from .readers import read_trace
from .report.model import Report
from .trace import Trace


def load(path: str | os.PathLike[str], progress: Callable[[int], None] | None = None) -> Trace:
    """Read a trace that `torch.profiler` recorded (JSON, plain or in gzip or zip).

    Raises:
        TraceFormatError: it is none, or cannot be read.
    """
    return read_trace(path, progress)


def check(
    trace: Trace,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    patterns: Sequence[str | os.PathLike[str] | type[Pattern] | Pattern] = (),
    name: str | None = None,
) -> Report:
    """Run the rules on a trace.

    Args:
        trace: what `load` gave.
        select: codes, prefixes of codes or slugs; only these rules run. Empty for all.
        ignore: the same, to leave out.
        patterns: further rules: files, modules, subclasses of Pattern or instances of them.
        name: a regular expression; events so named are listed as TDY000.

    Raises:
        UnknownPattern, PatternLoadError: a choice or a rule that is none.
    """
    return Report(trace, run_patterns(trace, prepare(select, ignore, patterns, name)))


def prepare(
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    patterns: Sequence[str | os.PathLike[str] | type[Pattern] | Pattern] = (),
    name: str | None = None,
) -> list[Pattern]:
    """Instances of the chosen rules, by code; arguments as for `check`."""
    sources, classes, instances = _sort(patterns)
    classes = load_patterns(sources, classes)
    chosen = select_patterns(classes, select, ignore)
    if name is not None and NamedEvent not in chosen:
        chosen.insert(0, NamedEvent)
    rules = [NamedEvent(name) if each is NamedEvent else each() for each in chosen]
    rules += instances
    if not rules:
        raise UnknownPattern("the rules selected and ignored leave none to run")
    return rules


def _sort(
    patterns: Iterable[object],
) -> tuple[list[str], list[type[Pattern]], list[Pattern]]:
    """What `patterns` names, by kind: files and modules, classes, instances."""
    sources: list[str] = []
    classes: list[type[Pattern]] = []
    instances: list[Pattern] = []
    for each in patterns:
        if isinstance(each, (str, os.PathLike)):
            sources.append(str(os.fspath(each)))
        elif isinstance(each, type) and issubclass(each, Pattern):
            classes.append(each)
        elif isinstance(each, Pattern):
            instances.append(each)
        else:
            raise PatternLoadError(f"patterns: {each!r} is no file, module or Pattern")
    return sources, classes, instances
