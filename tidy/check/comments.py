"""Comments by which a source accepts findings.

x = loss.item()  # tidy: ignore[TDY301] -- read once an epoch

# tidy: ignore[TDY4] -- prototype
for i in range(n):          all of the statement below
    ...

# tidy: ignore-file[TDY101]
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from .places import SourceFile

COMMENT = re.compile(
    r"#\s*tidy\s*:\s*(?P<kind>ignore-file|ignore)\b(?P<codes>\s*\[[^\]#]*\])?(?P<rest>[^#]*)"
)
_REASON = re.compile(r"\s*--\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class IgnoreComment:
    """One comment.

    Attributes:
        codes: the rules that it names: codes, prefixes or names; none where it cannot be read.
        reason: what stands behind `--`.
        first, last: the lines whose findings it accepts.
    """

    line: int
    codes: tuple[str, ...]
    reason: str
    first: int
    last: int


def comments_of(source: SourceFile) -> list[IgnoreComment]:
    """Return the comments in a source, from top to bottom; none if Python cannot read it."""
    if "tidy" not in source.text or not source.statements:
        return []
    return [_comment(*found, source) for found in _found(source)]


def _found(source: SourceFile) -> Iterator[tuple[int, bool, re.Match[str]]]:
    """Yield the line of each comment, whether it stands alone there, and its match."""
    try:
        for token in source.tokens():
            if token.type == tokenize.COMMENT:
                is_alone = not source.lines[token.start[0] - 1][: token.start[1]].strip()
                for match in COMMENT.finditer(token.string):
                    yield token.start[0], is_alone, match
    except SyntaxError:
        return


def _comment(line: int, is_alone: bool, match: re.Match[str], source: SourceFile) -> IgnoreComment:
    inside = (match["codes"] or "").strip().strip("[]")
    codes = tuple(filter(None, (each.strip() for each in inside.split(","))))
    reason = _REASON.fullmatch(match["rest"])
    if match["kind"] == "ignore-file":
        lines = 1, len(source.lines)
    else:
        lines = (_below if is_alone else _at)(line, source.statements)
    return IgnoreComment(line, codes, reason[1] if reason else "", *lines)


def _at(line: int, statements: list[ast.stmt]) -> tuple[int, int]:
    """The lines of the statement that a line belongs to; of one with a body, its head."""
    heads = [each for each in map(_head, statements) if each[0] <= line <= each[1]]
    return max(heads, default=(line, line))


def _below(line: int, statements: list[ast.stmt]) -> tuple[int, int]:
    """The statement that begins next, with its body; or the one that the line is within."""
    first, last = _at(line, statements)
    if first < line:  # between the brackets of a call
        return first, last
    after = [(begin_of(each), each.end_lineno or each.lineno) for each in statements]
    after = [each for each in after if each[0] > line]
    first = min((each[0] for each in after), default=line)
    return first, max((each[1] for each in after if each[0] == first), default=line)


def begin_of(statement: ast.stmt) -> int:
    """Return the first line of a definition, which is that of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _head(statement: ast.stmt) -> tuple[int, int]:
    first, last = begin_of(statement), statement.end_lineno or statement.lineno
    inside = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if inside:
        begins = inside[0].pattern.lineno if hasattr(inside[0], "pattern") else begin_of(inside[0])
        last = max(min(last, begins - 1), statement.lineno)
    return first, last
