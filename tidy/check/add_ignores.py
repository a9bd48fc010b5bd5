"""Writing `# tidy: ignore[...]` where findings are, without changing anything else."""

from __future__ import annotations

import ast
import codecs
import re
import tokenize
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import reason_of
from ..finding import Finding
from ..whole_file import write_whole
from .comments import COMMENT, begin_of
from .places import SourceFile, Sources

_WITH_END = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")


@dataclass(slots=True)
class WrittenIgnores:
    """The comments that were written, and the findings for which none was.

    Attributes:
        counts: number of findings that were accepted, by file.
        left: findings that no comment could be written for.
        problems: why a file could not be written.
    """

    counts: dict[Path, int] = field(default_factory=dict)
    left: list[Finding] = field(default_factory=list)
    problems: dict[Path, str] = field(default_factory=dict)


def add_ignores(sources: Sources, findings: Iterable[Finding]) -> WrittenIgnores:
    """Write a comment at the statement of each finding, in the project's sources alone.

    Lines stay where they are. What a comment says already is not written again.
    """
    written = WrittenIgnores()
    by_file: dict[Path, tuple[SourceFile, list[Finding]]] = {}
    for each in findings:
        file = None if each.location is None else sources.file(each.location.file)
        source = None if file is None else sources.text_of(file)
        if file is None or source is None:
            written.left.append(each)
        else:
            by_file.setdefault(file, (source, []))[1].append(each)
    for file in sorted(by_file):
        _add(file, *by_file[file], written)
    return written


def _add(
    file: Path, source: SourceFile, findings: Sequence[Finding], written: WrittenIgnores
) -> None:
    lines = _LinesOfSource(source)
    codes: dict[int, set[str]] = {}
    count = 0
    for each in findings:
        line = None if each.location is None else lines.for_comment(each.location.line)
        if line is None:
            written.left.append(each)
        else:
            codes.setdefault(line, set()).add(each.code)
            count += 1
    made = lines.with_codes(codes)
    if made is None:
        written.problems[file] = "a comment would change what it means"
    elif made != source.content:
        try:
            write_whole(file, made, before=source.content)
            written.counts[file] = count
        except OSError as error:
            written.problems[file] = reason_of(error)


class _LinesOfSource:
    """The lines of a source, and at the end of which of them a comment can stand."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._comments: dict[int, int] = {}  # column of the comment in a line
        self._occupied = set[int]()  # lines that end within a string or with a backslash
        self._is_read = self._read()

    def _read(self) -> bool:
        opened: list[int] = []
        try:
            for token in self._source.tokens():
                name = tokenize.tok_name[token.type]
                if name == "COMMENT":
                    self._comments[token.start[0]] = token.start[1]
                elif name == "STRING":
                    self._occupied.update(range(token.start[0], token.end[0]))
                elif name in ("FSTRING_START", "TSTRING_START"):
                    opened.append(token.start[0])
                elif name in ("FSTRING_END", "TSTRING_END"):
                    self._occupied.update(range(opened.pop(), token.end[0]))
        except SyntaxError:
            return False
        self._occupied.update(
            number
            for number, line in enumerate(self._source.lines, 1)
            if line.rstrip().endswith("\\") and number not in self._comments
        )
        return True

    def for_comment(self, line: int) -> int | None:
        """Return the line at whose end a comment is about `line`; None if there is none."""
        holding = [s for s in self._source.statements if begin_of(s) <= line <= (s.end_lineno or 0)]
        statement = max(holding, key=begin_of, default=None)  # the innermost
        if statement is None or not self._is_read:
            return None
        last = line if hasattr(statement, "body") else statement.end_lineno or line
        return next((each for each in (line, last) if each not in self._occupied), None)

    def with_codes(self, codes: Mapping[int, set[str]]) -> bytes | None:
        """Return the source with comments; None if Python would read another program."""
        lines = _WITH_END.findall(self._source.content)
        for number, wanted in codes.items():
            text = lines[number - 1].rstrip(b"\r\n")
            end = lines[number - 1][len(text) :]
            at = self._start_of_comment(number) if number in self._comments else len(text)
            lines[number - 1] = _with_codes(text, at, sorted(wanted)) + end
        made = b"".join(lines)
        meaning = _meaning(self._source.content)
        return made if meaning is not None and _meaning(made) == meaning else None

    def _start_of_comment(self, number: int) -> int:
        """The first byte of a line's comment."""
        before = self._source.lines[number - 1][: self._comments[number]]
        encoding = self._source.encoding
        if encoding != "utf-8-sig":
            return len(before.encode(encoding, "replace"))
        return len(before.encode()) + (len(codecs.BOM_UTF8) if number == 1 else 0)


def _with_codes(text: bytes, at: int, codes: Sequence[str]) -> bytes:
    """A line with codes in the comment that begins at a byte, or in a new one."""
    said = text[at:].decode("latin-1")
    match = next((m for m in COMMENT.finditer(said) if m["kind"] == "ignore" and m["codes"]), None)
    if match is None:
        return text.rstrip() + f"  # tidy: ignore[{', '.join(codes)}]".encode()
    has = [each.strip() for each in match["codes"].strip().strip("[]").split(",") if each.strip()]
    more = [each for each in codes if each not in has]
    start, end = match.span("codes")
    inside = f"[{', '.join([*has, *more])}]" if more else match["codes"]
    return text[:at] + (said[:start] + inside + said[end:]).encode("latin-1")


def _meaning(content: bytes) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(content), include_attributes=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
