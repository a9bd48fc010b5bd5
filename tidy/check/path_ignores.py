"""Rules that are left out in some files: `"tests/**" = ["TDY4"]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from ..finding import Finding
from ..patterns.registry import is_named, split_choices

_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^]]+\]|.", re.DOTALL)
_AS_REGEX = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class PathIgnore:
    """One pattern and the rules that are left out in what it matches.

    A pattern is matched against the path from the folder of its file, or against the path as the
    trace has it where that lies elsewhere; one without a slash against the name of the file.

    Attributes:
        pattern: with `*` (no slash), `**` (anything), `?` and `[abc]`.
        file, key: where it is said.
    """

    pattern: str
    codes: tuple[str, ...]
    file: Path
    key: str

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        parts = _PART.findall(self.pattern.replace("\\", "/").removeprefix("./"))
        return re.compile("".join(map(_regex_of, parts)), re.DOTALL)

    def matches(self, path: str) -> bool:
        """Tell whether the pattern matches a file, as a trace names it."""
        posix = path.replace("\\", "/").removeprefix("./")
        folder = self.file.parent.as_posix().rstrip("/") + "/"
        inside = posix.removeprefix(folder)
        meant = inside if "/" in self.pattern else PurePosixPath(inside).name
        return self._regex.fullmatch(meant) is not None

    def is_about(self, finding: Finding) -> bool:
        """Tell whether it leaves out the rule of a finding in the finding's file."""
        choices = split_choices(self.codes)
        names = any(is_named(each, finding.code, finding.name) for each in choices)
        return names and finding.location is not None and self.matches(finding.location.file)


def _regex_of(part: str) -> str:
    if part in _AS_REGEX:
        return _AS_REGEX[part]
    if len(part) > 1:  # a set
        negated, inside = ("^", part[2:-1]) if part[1] == "!" else ("", part[1:-1])
        return f"[{negated}{re.escape(inside).replace(chr(92) + '-', '-')}]"
    return re.escape(part)
