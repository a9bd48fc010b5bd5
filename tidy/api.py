"""`tidy.check`: what the command line does with a trace, for Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from .check import pipeline
from .check.baseline import read_baseline
from .check.pipeline import CheckSettings
from .check.settings import Settings, load_settings
from .errors import PatternLoadError, UnknownPattern, UsageError
from .loading import load  # noqa: F401 - shows traces in notebooks, too
from .patterns.base import Pattern
from .patterns.option import set_options
from .patterns.registry import by_code, load_builtin_patterns, load_patterns, select_patterns
from .patterns.rules.named_event import NamedEvent
from .report.report import Report
from .trace import Trace

Rule = str | os.PathLike[str] | type[Pattern] | Pattern
Rules = Rule | Iterable[Rule]


def check(
    trace: Trace,
    *,
    select: str | Iterable[str] | None = None,
    ignore: str | Iterable[str] | None = None,
    patterns: Rules = (),
    name: str | None = None,
    savings: Literal["replay", "off"] | None = None,
    warn_from: float | None = None,
    options: Mapping[str, Mapping[str, float]] | None = None,
    config: str | os.PathLike[str] | None = None,
    sources: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
) -> Report:
    """Run the rules on a trace.

    Args:
        trace: what `load` gave.
        select: codes, prefixes of codes or slugs, in one text with commas or in several; only these
            rules run. Empty for all.
        ignore: the same for rules to leave out.
        patterns: further rules, one or several: files, modules, subclasses of Pattern or instances
            of them.
        name: a regular expression; events so named are listed as TDY000.
        savings: "replay" runs the recorded graph again with what each fix changes; "off" does not,
            and findings are weighed by what they cost. None for "replay".
        warn_from: the share of the steps that a finding has to save (where nothing is replayed, to
            cost) to be a warning; None for 1 %.
        options: options of rules by code or slug, and by name: `{"TDY402": {"least-idle": 0.2}}`.
        config: a configuration file, tidy.toml or pyproject.toml. The arguments come before what
            it says. No file is read that is not named.
        sources: the folder of the project, whose comments `# tidy: ignore[...]` are then read.
        baseline: a file that `tidy baseline` wrote: the findings in it are accepted.

    Raises:
        TypeError: `trace` is no trace: a path has to be loaded first.
        UnknownPattern: a choice names no rule, or the choices leave no rule to run.
        PatternLoadError: a file or module of rules cannot be loaded.
        UsageError: an argument makes no sense, a rule has no such option, or it cannot have the
            value.
        ConfigError: the configuration cannot be read, or says what makes no sense.
    """
    if not isinstance(trace, Trace):
        raise TypeError(_no_trace(trace))
    if savings not in (None, "replay", "off"):
        raise UsageError(f'savings is "replay" or "off", and not {savings!r}')
    if warn_from is not None and not _is_share(warn_from):
        raise UsageError(f"warn_from is a share of the steps from 0 to 1, and not {warn_from!r}")
    if not isinstance(name, (str, NoneType)):
        raise UsageError(f"name is a regular expression as text, and not {name!r}")
    settings = Settings() if config is None else load_settings(Path(config))
    select = settings.get("select") if select is None else select
    ignore = settings.get("ignore") if ignore is None else ignore
    rules = prepare(
        select,
        ignore,
        [*settings.get("patterns"), *_listed(patterns)],
        name,
        options or {},
        settings,
    )
    checking = CheckSettings(
        rules,
        settings.path_ignores,
        folders=[] if sources is None else [Path(sources)],
        baseline=None if baseline is None else read_baseline(Path(baseline).absolute()),
        costlier_from=settings.get("costlier-from") / 100,
        savings=savings or settings.get("savings"),
        warn_from=settings.get("warn-from") / 100 if warn_from is None else warn_from,
    )
    (checked,) = pipeline.check([trace], checking)
    return Report.of(checked)


def _is_share(given: object) -> bool:
    return not isinstance(given, bool) and isinstance(given, Real) and 0 <= float(given) <= 1


def _no_trace(given: object) -> str:
    what = f"tidy.check() takes a trace, not {type(given).__name__}"
    if isinstance(given, (str, os.PathLike)):
        return f"{what}: write tidy.check(tidy.load({os.fspath(given)!r}))"
    if hasattr(type(given), "trace"):
        return f"{what}: give its .trace"
    if hasattr(given, "export_chrome_trace"):  # PyTorch's profiler
        return f"{what}: export_chrome_trace(FILE) first, then tidy.check(tidy.load(FILE))"
    return f"{what}: tidy.load(FILE) gives one"


def prepare(
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    patterns: Rules = (),
    name: str | None = None,
    options: Mapping[str, Mapping[str, float]] | None = None,
    settings: Settings | None = None,
) -> list[Pattern]:
    """Instances of the chosen rules, by code; arguments and errors as for `check`.

    Where `options` says nothing of a rule, those of the configuration hold.
    """
    rules_given = list(_listed(patterns))
    sources = [str(os.fspath(each)) for each in rules_given if isinstance(each, (str, os.PathLike))]
    instances = [each for each in rules_given if isinstance(each, Pattern)]
    own = [each for each in rules_given if isinstance(each, type) and issubclass(each, Pattern)]
    for each in rules_given:
        if not isinstance(each, (str, os.PathLike, Pattern)) and each not in own:
            raise PatternLoadError(f"patterns: {each!r} is no file, module or Pattern")
    classes = load_patterns(sources, own)
    configured = {} if settings is None else settings.check(classes)
    given = by_code(options or {}, classes)
    chosen = select_patterns(classes, select, ignore)
    if name is not None and NamedEvent not in chosen:
        chosen.insert(0, NamedEvent)
    rules = [NamedEvent(name) if each is NamedEvent else each() for each in chosen]
    for rule in rules:
        set_options(rule, {**configured.get(rule.code, {}), **given.get(rule.code, {})})
    rules += instances
    if instances or len(classes) > len(load_builtin_patterns()):
        from . import averages  # noqa: F401 - rules of one's own may ask for `trace.table()`
    if not rules:
        raise UnknownPattern("the rules selected and ignored leave none to run")
    return rules


def _listed(patterns: Any) -> Iterable[Any]:
    """The rules that were given, of which one may stand alone."""
    if isinstance(patterns, Iterable) and not isinstance(patterns, (str, os.PathLike)):
        return patterns
    return [patterns]
