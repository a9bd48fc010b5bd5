"""`Settings`: what the files of a project say, each value with the file it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..errors import ConfigError, UnknownPattern
from ..patterns.base import Pattern
from ..patterns.option import options_of
from ..patterns.registry import matching_patterns
from .keys import EXTEND, FORMS, KEYS, PATH_IGNORES, RULES, Key
from .path_ignores import PathIgnore
from .toml import Table, find_file, read_table, shown

_PLAIN = re.compile(r"[-\w]+", re.ASCII)
RuleOptions = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Value:
    """A value, the file that gives it and the whole name of its key there."""

    value: Any
    file: Path
    key: str

    def error(self, problem: str) -> ConfigError:
        """Make the error about the value, with its file and key before the problem."""
        return ConfigError(f"{shown(self.file)}: {self.key}: {problem}")


@dataclass(frozen=True)
class Settings:
    """The configuration of a project, without the command line.

    Attributes:
        file: the file that was found; None where there is none.
        values: by key; files and rules of one's own as whole paths.
        rules: options by rule (as the file names it) and option, those of extended files first.
        path_ignores: those of all files.
    """

    file: Path | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    rules: Sequence[tuple[str, str, Value]] = ()
    path_ignores: Sequence[PathIgnore] = ()

    @property
    def root(self) -> Path | None:
        """The folder of the project; None where no file says which it is."""
        return None if self.file is None else self.file.parent

    def get(self, key: str) -> Any:
        """Return the value of a key; where no file gives it, the default."""
        return self.values[key].value if key in self.values else KEYS[key].default

    def rule_options(self, rules: Iterable[type[Pattern]]) -> dict[str, dict[str, Value]]:
        """Return the options that are set, by code and name, or an error about the first
        wrong one.
        """
        known = {name: rule for rule in rules for name in (rule.code, rule.slug())}
        made: dict[str, dict[str, Value]] = {}
        for choice, name, value in self.rules:
            rule = known.get(choice)
            if rule is None:
                problem = f"no such rule: {_did_you_mean(choice, known, '`tidy rules` lists all')}"
                raise value.error(problem)
            options = options_of(rule)
            if name not in options:
                has = f"{rule.code} has {', '.join(options) or 'no options'}"
                raise value.error(f"no such option: {_did_you_mean(name, options, has)}")
            problem_ = options[name].problem_of(value.value)
            if problem_ is not None:
                raise value.error(problem_)
            made.setdefault(rule.code, {})[name] = value
        return made

    def check(self, rules: Sequence[type[Pattern]]) -> RuleOptions:
        """Return the options that are set, as plain numbers, after all that names rules
        named some.
        """
        named = [self.values[key] for key in ("select", "ignore") if key in self.values]
        named += [Value(list(each.codes), each.file, each.key) for each in self.path_ignores]
        for value in named:
            try:
                matching_patterns(value.value, rules)
            except UnknownPattern as error:  # noqa: PERF203
                raise value.error(str(error)) from None
        options = self.rule_options(rules)
        return {code: {n: v.value for n, v in each.items()} for code, each in options.items()}


def find_settings(*starts: Path) -> Settings:
    """Load the first file that is found from one of the folders upwards."""
    for start in starts:
        file = find_file(start)
        if file is not None:
            return load_settings(file)
    return Settings()


def load_settings(file: Path) -> Settings:
    """Load the settings of a file and of those that it extends."""
    file = file.absolute()
    read: list[_ConfigFile] = []
    next_: Path | None = file
    while next_ is not None:
        if any(next_.resolve() == each.file.resolve() for each in read):
            raise ConfigError(f"{shown(read[-1].file)}: {EXTEND}: {shown(next_)} extends itself")
        read.append(_ConfigFile(next_))
        next_ = read[-1].extends
    values: dict[str, Value] = {}
    for each in reversed(read):
        values |= each.values
    return Settings(
        file,
        values,
        [rule for each in reversed(read) for rule in each.rules],
        [ignore for each in reversed(read) for ignore in each.path_ignores],
    )


class _ConfigFile:
    """One file, checked key by key."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.extends: Path | None = None
        self.values: dict[str, Value] = {}
        self.rules: list[tuple[str, str, Value]] = []
        self.path_ignores: list[PathIgnore] = []
        table, self._prefix = read_table(file)
        known = [*KEYS, EXTEND, RULES, PATH_IGNORES]
        for name, value in table.items():
            if name == EXTEND:
                self._check(Key(EXTEND, "file", "", ""), value, name)
                self.extends = self._path(value)
            elif name == RULES:
                self._read_rules(self._table(name, value))
            elif name == PATH_IGNORES:
                self._read_ignores(self._table(name, value))
            elif name in KEYS:
                self._check(KEYS[name], value, name)
                self.values[name] = self._value(self._placed(KEYS[name], value), name)
            else:
                alike = _did_you_mean(name, known, "`tidy config` lists all")
                raise self._value(value, name).error(f"no such key: {alike}")

    def _value(self, value: Any, *names: str) -> Value:
        key = ".".join(name if _PLAIN.fullmatch(name) else ascii(name) for name in names)
        return Value(value, self.file, self._prefix + key)

    def _check(self, key: Key, value: Any, *names: str) -> None:
        problem = key.problem_of(value)
        if problem is not None:
            raise self._value(value, *names).error(problem)

    def _table(self, name: str, value: Any) -> Table:
        if not isinstance(value, dict):
            raise self._value(value, name).error("this has to be a table")
        return value

    def _read_rules(self, table: Table) -> None:
        for choice, options in table.items():
            if not isinstance(options, dict):
                problem = f"this has to be a table of options: [{RULES}.{choice}]"
                raise self._value(options, RULES, choice).error(problem)
            for name, value in options.items():
                self.rules.append((choice, name, self._value(value, RULES, choice, name)))

    def _read_ignores(self, table: Table) -> None:
        key = Key(PATH_IGNORES, "texts", [], "")
        for pattern, codes in table.items():
            self._check(key, codes, PATH_IGNORES, pattern)
            where = self._value(codes, PATH_IGNORES, pattern).key
            self.path_ignores.append(PathIgnore(pattern, tuple(codes), self.file, where))

    def _path(self, given: str) -> Path:
        return self.file.parent / given

    def _placed(self, key: Key, value: Any) -> Any:
        """Names of files are relative to the file that has them."""
        if key.kind == "file":
            return str(self._path(value))
        if key.name == "patterns":
            is_module = [
                each.isidentifier() or re.fullmatch(r"\w+(\.\w+)+", each) for each in value
            ]
            return [
                each if module and not each.endswith(".py") else str(self._path(each))
                for each, module in zip(value, is_module, strict=True)
            ]
        return [self._output(each) for each in value] if key.kind == "files" else value

    def _output(self, given: str) -> str:
        form, equals, path = given.partition("=")
        if equals and form in FORMS:
            return given if path in ("", "-") else f"{form}={self._path(path)}"
        return given if given == "-" else str(self._path(given))


def _did_you_mean(name: str, known: Iterable[str], else_: str) -> str:
    alike = get_close_matches(name, list(known), 1)
    return f"did you mean {alike[0]}?" if alike else else_
