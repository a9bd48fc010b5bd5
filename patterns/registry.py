"""Finding rules: our own, those of installed plug-ins, and those named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from tidy.errors import PatternLoadError, UnknownPattern

from .base import Pattern

ENTRY_POINT_GROUP = "tidy.patterns"
_CODE = re.compile(r"[A-Z]{3}\d{3}")

PatternClass = type[Pattern]


def load_patterns(
    extra: Sequence[str] = (), classes: Sequence[PatternClass] = ()
) -> list[PatternClass]:
    """All rules by code: built in, from entry points, from `extra`, and `classes` themselves.

    Args:
        extra: files (`rules/mine.py`) or modules (`mine.rules`) that define subclasses of Pattern.

    Raises:
        PatternLoadError: one does not load, defines no rule, or two share a code.
    """
    loaded: dict[str, PatternClass] = {}
    given = _checked("patterns", classes) if classes else []
    for pattern in (*_all_patterns(extra), *given):
        other = loaded.setdefault(pattern.code, pattern)
        if other is not pattern:
            raise PatternLoadError(
                f"{_name(pattern)}: code {pattern.code} is taken by {_name(other)}; choose another"
            )
    return [loaded[code] for code in sorted(loaded)]


def load_builtin_patterns() -> list[PatternClass]:
    """The rules that come with tidy, by code."""
    rules = importlib.import_module("tidy.patterns.rules")
    modules = pkgutil.iter_modules(rules.__path__, rules.__name__ + ".")
    found = [p for m in modules for p in patterns_in(importlib.import_module(m.name))]
    return sorted(found, key=lambda pattern: pattern.code)


def _all_patterns(extra: Sequence[str]) -> Iterator[PatternClass]:
    yield from load_builtin_patterns()
    for entry_point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda each: each.name):
        yield from _from_entry_point(entry_point)
    for source in extra:
        yield from _checked(source, _load_source(source))


def patterns_in(module: ModuleType) -> list[PatternClass]:
    """The rules that a module defines, by name; helpers whose code is empty are left out."""
    return [
        each
        for _, each in sorted(vars(module).items())
        if isinstance(each, type)
        and issubclass(each, Pattern)
        and each.__module__ == module.__name__
        and each.code
    ]


def select_patterns(
    patterns: Sequence[PatternClass], select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> list[PatternClass]:
    """The rules chosen by code, prefix of a code or slug; `ignore` wins over `select`.

    Raises:
        UnknownPattern: a choice names no rule.
    """
    wanted, unwanted = list(select), list(ignore)
    chosen = {code for choice in wanted for code in _codes_of(choice, patterns)}
    dropped = {code for choice in unwanted for code in _codes_of(choice, patterns)}
    return [p for p in patterns if (not wanted or p.code in chosen) and p.code not in dropped]


def find_pattern(choice: str, patterns: Sequence[PatternClass]) -> PatternClass:
    """The one rule with this code or slug.

    Raises:
        UnknownPattern: there is none.
    """
    for pattern in patterns:
        if choice.upper() == pattern.code or choice.lower() == pattern.slug():
            return pattern
    raise UnknownPattern(f"no rule is called {choice!r}; `tidy rules` lists all")


def _codes_of(choice: str, patterns: Sequence[PatternClass]) -> list[str]:
    wanted = choice.strip()
    codes = [p.code for p in patterns if wanted.lower() == p.slug()]
    if re.fullmatch(r"[A-Za-z]{1,3}\d*", wanted):
        codes += [p.code for p in patterns if p.code.startswith(wanted.upper())]
    if not codes:
        raise UnknownPattern(f"no rule is called {choice!r}; `tidy rules` lists all")
    return codes


def _from_entry_point(entry_point: EntryPoint) -> list[PatternClass]:
    source = f"plug-in {entry_point.name!r} ({entry_point.value})"
    try:
        found = entry_point.load()
    except (Exception, SystemExit) as error:
        raise PatternLoadError(f"{source} does not load: {_reason(error)}") from error
    if isinstance(found, ModuleType):
        return _checked(source, patterns_in(found))
    return _checked(source, [found])


def _load_source(source: str) -> list[PatternClass]:
    path = Path(source)
    try:
        if path.is_file():
            return patterns_in(_import_file(path))
        if path.suffix == ".py" or "/" in source or "\\" in source:
            what = "a folder; name a file in it" if path.is_dir() else "there is no such file"
            raise PatternLoadError(f"--patterns {source}: {what}")
        if "" not in sys.path:
            sys.path.insert(0, "")
        return patterns_in(importlib.import_module(source))
    except PatternLoadError:
        raise
    except (Exception, SystemExit) as error:
        raise PatternLoadError(f"--patterns {source} does not load: {_reason(error)}") from error


def _import_file(path: Path) -> ModuleType:
    name = f"tidy_patterns_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PatternLoadError(f"--patterns {path}: this is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _checked(source: str, found: Sequence[object]) -> list[PatternClass]:
    patterns: list[PatternClass] = []
    for each in found:
        if not (isinstance(each, type) and issubclass(each, Pattern)):
            raise PatternLoadError(f"{source}: {each!r} is no subclass of tidy.Pattern")
        if not _CODE.fullmatch(each.code):
            raise PatternLoadError(
                f"{source}: {each.__name__}.code is {each.code!r}; a code is three capital "
                "letters and three digits"
            )
        patterns.append(each)
    if not patterns:
        raise PatternLoadError(f"{source} defines no rule (a subclass of tidy.Pattern with a code)")
    return patterns


def _reason(error: BaseException) -> str:
    """`SyntaxError at line 3: ...`, on one line."""
    line = f" at line {error.lineno}" if isinstance(error, SyntaxError) else ""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(f"{type(error).__name__}{line}: {text}".split())


def _name(pattern: PatternClass) -> str:
    return f"{pattern.__module__}.{pattern.__name__}"
