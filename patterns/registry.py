"""Finding rules: our own, those of installed plug-ins, and those named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tidy.errors import PatternLoadError, UnknownPattern, UsageError

from .base import Pattern

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "tidy.patterns"
CODE = re.compile(r"[A-Z]{3}\d{3}")

_CODE_OR_PREFIX = re.compile(r"[A-Za-z]{1,3}\d*")
_ALIKE = 0.8  # how alike two words are of which one may be meant for the other
_LISTED = "`tidy rules` lists all"

PatternClass = type[Pattern]
Options = Mapping[str, float]


def load_patterns(
    extra: Sequence[str] = (), classes: Sequence[PatternClass] = ()
) -> list[PatternClass]:
    """Return all rules by code: built in, from entry points, from `extra`, and `classes`
    themselves.

    Args:
        extra: files (`rules/mine.py`) or modules (`mine.rules`) that define subclasses of Pattern.

    Raises:
        PatternLoadError: one does not load, defines no rule, or two share a code.
    """
    loaded: dict[str, PatternClass] = {}
    given = _checked("patterns", classes) if classes else []
    path = tuple(zip(sys.path, map(_changed_ns, sys.path), strict=True))
    installed = (each for point in _entry_points(path) for each in _from_entry_point(point))
    named = (each for source in extra for each in load_source(source))
    for pattern in (*load_builtin_patterns(), *installed, *named, *given):
        other = loaded.setdefault(pattern.code, pattern)
        if other is not pattern:
            new, old = (f"{each.__module__}.{each.__name__}" for each in (pattern, other))
            raise PatternLoadError(f"{new}: code {pattern.code} is taken by {old}; choose another")
    return [loaded[code] for code in sorted(loaded)]


@cache
def load_builtin_patterns() -> tuple[PatternClass, ...]:
    """Return the rules that come with tidy, by code."""
    rules = importlib.import_module("tidy.patterns.rules")
    modules = pkgutil.iter_modules(rules.__path__, rules.__name__ + ".")
    found = [p for m in modules for p in patterns_in(importlib.import_module(m.name))]
    return tuple(sorted(found, key=lambda pattern: pattern.code))


@cache
def _entry_points(_path: tuple[tuple[str, int], ...]) -> list[EntryPoint]:
    """Those of rules that are installed, by name; to look for them takes longer than most rules.

    Args:
        _path: the folders of `sys.path`, and when each was changed last.
    """
    if not (any(_may_have_rules(folder) for folder, _ in _path) or _others_know_packages()):
        return []
    from importlib.metadata import entry_points  # loads email, csv, zipfile and more

    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda each: each.name)


def _may_have_rules(folder: str) -> bool:
    """Look for the group of entry points in the packages of a folder; True if that is not sure.

    Most often there is none, which `importlib.metadata` takes ten times as long to say.
    """
    try:
        infos = [
            Path(folder, name, "entry_points.txt")
            for name in os.listdir(folder or ".")  # noqa: PTH208 - this is a list of all modules
            if name.lower().endswith((".dist-info", "egg-info"))
        ]
        return any(ENTRY_POINT_GROUP in each.read_text("utf-8") for each in infos if each.is_file())
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # an archive, for one
        return True


def _others_know_packages() -> bool:
    """Tell whether packages may be installed elsewhere than in folders of `sys.path`."""
    others = (each for each in sys.meta_path if each is not PathFinder)
    return any(hasattr(each, "find_distributions") for each in others)


def _changed_ns(folder: str) -> int:
    try:
        return Path(folder or ".").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def patterns_in(module: ModuleType) -> list[PatternClass]:
    """Return the rules that a module defines, by name; helpers whose code is empty are left out."""
    return [
        each
        for _, each in sorted(vars(module).items())
        if isinstance(each, type)
        and issubclass(each, Pattern)
        and each.__module__ == module.__name__
        and each.code
    ]


def is_named(choice: str, code: str, name: str) -> bool:
    """Tell whether a choice (a code, the beginning of one, or a name) means a rule."""
    wanted = choice.strip()
    if wanted.lower() == name:
        return True
    return bool(_CODE_OR_PREFIX.fullmatch(wanted)) and code.startswith(wanted.upper())


def split_choices(choices: str | Iterable[str]) -> list[str]:
    """Return the choices in one text or in several, each with any number of them between commas.

    A text without any stays as it is, and names no rule: it is not the same as no choice.

    Raises:
        UnknownPattern: something else than a text is among them.
    """
    is_one = isinstance(choices, (str, bytes)) or not isinstance(choices, Iterable)
    texts: list[object] = [choices] if is_one else list(choices)
    for each in texts:
        if not isinstance(each, str):
            raise UnknownPattern(f"{each!r}: no such rule: its code or name is given as a text")
    several = ([part.strip() for part in text.split(",")] for text in map(str, texts))
    return [part for parts in several for part in (list(filter(None, parts)) or parts[:1])]


def select_patterns(
    patterns: Sequence[PatternClass],
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
) -> list[PatternClass]:
    """Return the rules chosen by code, prefix of a code or slug; `ignore` wins over `select`.

    Raises:
        UnknownPattern: a choice names no rule.
    """
    wanted = split_choices(select)
    chosen = matching_patterns(wanted, patterns) if wanted else patterns
    dropped = matching_patterns(ignore, patterns)
    return [each for each in patterns if each in chosen and each not in dropped]


def matching_patterns(
    choices: str | Iterable[str], patterns: Sequence[PatternClass]
) -> list[PatternClass]:
    """Return the rules with these codes, prefixes of codes or slugs, in order of the choices, each
    once.

    Raises:
        UnknownPattern: a choice names no rule.
    """
    found = (_named(choice, patterns) for choice in split_choices(choices))
    return list(dict.fromkeys(pattern for some in found for pattern in some))


def by_code(options: Mapping[str, Options], patterns: Sequence[PatternClass]) -> dict[str, Options]:
    """Options that are given by code or slug, by code.

    Raises:
        UnknownPattern: a name is that of no rule.
        UsageError: the options of a rule are not given by name.
    """
    made: dict[str, Options] = {}
    for choice, values in options.items():
        if not isinstance(values, Mapping):
            raise UsageError(f"{choice}: options are given by name, not as {values!r}")
        for pattern in _named(choice, patterns):
            made[pattern.code] = {**made.get(pattern.code, {}), **values}
    return made


def _named(choice: str, patterns: Sequence[PatternClass]) -> list[PatternClass]:
    wanted = choice.strip()
    found = [p for p in patterns if is_named(wanted, p.code, p.slug())]
    if not found:
        known = [name for p in patterns for name in (p.code, p.slug())]
        alike = get_close_matches(wanted, known, 1, _ALIKE)
        alike = alike or get_close_matches(wanted.upper(), known, 1, _ALIKE)
        todo = f"did you mean {alike[0]}? (`tidy rules` lists all)" if alike else _LISTED
        raise UnknownPattern(f"{wanted!r}: no such rule: {todo}")
    return found


def _from_entry_point(entry_point: EntryPoint) -> list[PatternClass]:
    source = f"plug-in {entry_point.name!r} ({entry_point.value})"
    try:
        found = entry_point.load()
    except (Exception, SystemExit) as error:
        raise PatternLoadError(f"{source} does not load: {_reason(error)}") from error
    return _checked(source, patterns_in(found) if isinstance(found, ModuleType) else [found])


def load_source(source: str) -> list[PatternClass]:
    """Return the rules of a file (`rules/mine.py`) or a module (`mine.rules`).

    Raises:
        PatternLoadError: it does not load, or defines no rule.
    """
    path = Path(source)
    try:
        if path.is_file():
            module = _import_file(path)
        elif path.suffix == ".py" or "/" in source or "\\" in source:
            what = "a folder; name a file in it" if path.is_dir() else "there is no such file"
            raise PatternLoadError(f"--patterns {source}: {what}")
        else:
            if "" not in sys.path:
                sys.path.insert(0, "")
            module = importlib.import_module(source)
    except PatternLoadError:
        raise
    except (Exception, SystemExit) as error:
        raise PatternLoadError(f"--patterns {source} does not load: {_reason(error)}") from error
    return _checked(source, patterns_in(module))


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
        if not CODE.fullmatch(each.code):
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
