"""The keys of a configuration: name, type, default, and what each is for.

The reader, `tidy config` and the schema for editors are made from this table.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

FORMS = ("text", "json", "sarif", "github", "markdown", "html")
SEVERITIES = ("error", "warning", "info", "never")
SAVINGS = ("replay", "off")
ADDRESS = r"https?://[!$-~]+"  # no space, no quote, no `#`


class Key(NamedTuple):
    """One key.

    Attributes:
        kind: "text", "file", "address", "texts", "files", "choice", "number" or "count".
        text: what it is for, one line.
        most: the bound of a number; None for none.
    """

    name: str
    kind: str
    default: Any
    text: str
    choices: tuple[str, ...] = ()
    most: float | None = None

    @property
    def option(self) -> str:
        """The name of the option of `tidy report` that comes before it."""
        return {"format": "form"}.get(self.name, self.name.replace("-", "_"))

    def problem_of(self, value: object) -> str | None:
        """Say why the key cannot have a value; None if it can."""
        is_of_kind, what = _KINDS[self.kind]
        is_right = is_of_kind(value) and (not self.choices or value in self.choices)
        if is_right and isinstance(value, (int, float)):
            is_right = value >= 0 and (self.most is None or value <= self.most)
        bound = "" if self.most is None else f" to {self.most:g}"
        said = what.format(bound=bound, choices=", ".join(self.choices))
        return None if is_right else f"{_shown(value)} is no {said}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_address(value: object) -> bool:
    """Tell whether SARIF takes it with `#CODE` appended: an absolute URL without a fragment."""
    return isinstance(value, str) and re.fullmatch(ADDRESS, value) is not None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_count(value) or isinstance(value, float)


# For each kind the test of a value, and the kind in words.
_KINDS = {
    "text": (_is_text, "text"),
    "file": (_is_text, "file name"),
    "address": (_is_address, "address such as https://example.org/rules"),
    "choice": (_is_text, "word of {choices}"),
    "texts": (_are_texts, "list of texts"),
    "files": (_are_texts, "list of file names"),
    "number": (_is_number, "number from 0{bound}"),
    "count": (_is_count, "whole number from 0{bound}"),
}


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


KEYS = {
    key.name: key
    for key in (
        Key("select", "texts", [], "run only these rules: codes, prefixes (TDY4) or names"),
        Key("ignore", "texts", [], "leave these rules out"),
        Key(
            "fail-on",
            "choice",
            "warning",
            "the least severity that makes the exit code 1",
            SEVERITIES,
        ),
        Key(
            "warn-from",
            "number",
            1.0,
            "percent of the steps that a finding has to save (or to cost, where nothing is"
            " replayed) to be a warning",
            most=100,
        ),
        Key(
            "savings",
            "choice",
            "replay",
            "run the recorded graph again with what each fix changes, or weigh findings by cost",
            SAVINGS,
        ),
        Key("patterns", "files", [], "further rules: Python files, or names of modules"),
        Key("format", "choice", "text", "the form of the report", FORMS),
        Key(
            "output",
            "files",
            [],
            "files that the report is written to, as --output has them; - is the terminal",
        ),
        Key("baseline", "file", None, "findings that are accepted, as `tidy baseline` writes them"),
        Key(
            "costlier-from",
            "number",
            200.0,
            "percent that a finding of the baseline has to cost more than it did, against the rest"
            " of the steps, to count again; few steps on a busy machine differ by as much as twice",
        ),
        Key("top", "count", 20, "show the findings that matter most; 0 shows all"),
        Key(
            "rules-url",
            "address",
            None,
            "where the page of the rules, docs/rules.md, is published: SARIF links each rule to it",
        ),
    )
}
# Keys that are no values: another file, and two tables.
EXTEND, RULES, PATH_IGNORES = "extend", "rules", "per-path-ignores"
