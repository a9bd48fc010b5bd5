"""Locations of findings as files of the project: relative paths, and the statement at a line.

Only sources under the project's folder are read: the path in a trace is what a stranger wrote.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
import warnings
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import quote

from ..trace import Location

_MOST_NBYTES = 2_000_000  # of a source that is read
_SUFFIXES = (".py", ".pyw")
_INSIDE = ("body", "orelse", "finalbody", "handlers", "cases")  # statements in a statement
# As Python counts lines; str.splitlines() knows further line ends.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Region:
    """Lines and columns, both from 1; the end column is the one after the last character."""

    start_line: int
    end_line: int
    start_column: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The location of a finding in the sources of a project.

    Attributes:
        path: relative to the project's folder, with slashes; or as the trace has it.
        in_project: whether it lies under that folder.
        region: what is marked.
        text: the line as it stands; "" where the file is not read.
        statement: what the line does, in whatever variables; "" where that is not read.
    """

    path: str
    in_project: bool
    region: Region
    text: str = ""
    statement: str = ""

    @property
    def uri(self) -> str:
        """The path as a URI reference."""
        if self.in_project:
            return quote(self.path, errors="replace")
        posix = self.path.replace("\\", "/")
        if PureWindowsPath(self.path).drive or posix.startswith("/"):
            return "file:///" + quote(posix.lstrip("/"), safe="/:", errors="replace")
        return quote(posix, errors="replace")


class Sources:
    """The files of one project; each is read once.

    Folders beside its root have sources of the user's, too, such as that of the script that was
    run; relative paths may start there.
    """

    def __init__(self, root: Path, beside: Iterable[Path] = ()) -> None:
        self._root = root.resolve()
        self._folders = tuple(dict.fromkeys([self._root, *(each.resolve() for each in beside)]))
        self._files: dict[Path, SourceFile | None] = {}
        self._named: dict[str, Path | None] = {}

    def file(self, name: str) -> Path | None:
        """Return the source that a trace names, where it is one of the project's; else None.

        Names and links that lead out of its folders are none of it.
        """
        if name not in self._named:
            given = Path(name)
            is_elsewhere = not given.is_absolute() and PureWindowsPath(name).drive
            places = () if is_elsewhere else (self._below(each / given) for each in self._folders)
            self._named[name] = next(filter(None, places), None)
        return self._named[name]

    def _below(self, path: Path) -> Path | None:
        try:
            whole = path.resolve()
            is_ours = any(whole.is_relative_to(each) for each in self._folders)
            return whole if is_ours and whole.suffix in _SUFFIXES and whole.is_file() else None
        except (OSError, ValueError, RuntimeError):
            return None

    def text_of(self, file: Path) -> SourceFile | None:
        """Return the content of a file that `file` gave; None if it cannot be read."""
        if file not in self._files:
            self._files[file] = _read(file)
        return self._files[file]

    def place(self, location: Location) -> SourcePlace:
        """Return the path and the statement of a location in the project."""
        path, in_project = self._path(location.file)
        line = max(location.line, 1)
        source = self.text_of(self._root / path) if in_project else None
        if source is None or line > len(source.lines):
            return SourcePlace(path, in_project, Region(line, line))
        text, statement = source.lines[line - 1], source.meaning(line)
        return SourcePlace(path, True, source.region(line), text, statement)

    def place_of_file(self, file: str) -> SourcePlace:
        """Return the beginning of a file, for a finding without a location in it."""
        path, in_project = self._path(file)
        return SourcePlace(path, in_project, Region(1, 1))

    def _path(self, file: str) -> tuple[str, bool]:
        given = Path(file)
        known = self.file(file)
        try:
            if known is not None and known.is_relative_to(self._root):
                return str(PurePosixPath(*known.relative_to(self._root).parts)), True
            whole = given if given.is_absolute() else self._root / given
            inside = whole.resolve().relative_to(self._root)
        except (OSError, ValueError, RuntimeError):
            return file, False
        if not given.is_absolute() and PureWindowsPath(file).drive:
            return file, False
        return str(PurePosixPath(*inside.parts)), True


class _Renamed(ast.NodeTransformer):
    """Variables by the order in which a statement has them."""

    def __init__(self, variables: Container[str]) -> None:
        self._variables = variables
        self._numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        if name not in self._variables:
            return name
        return self._numbers.setdefault(name, f"${len(self._numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._number(node.arg))


def _read(path: Path) -> SourceFile | None:
    try:
        if path.suffix not in _SUFFIXES or not path.is_file():
            return None
        if path.stat().st_size > _MOST_NBYTES:
            return None
        return SourceFile(path.read_bytes())
    except (OSError, ValueError):
        return None


class SourceFile:
    """A source as Python reads it.

    Attributes:
        encoding: that it declares, or UTF-8; "utf-8-sig" where it begins with a mark.
        lines: the text by line, without the line ends.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        try:
            self.encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        except SyntaxError:
            self.encoding = "utf-8"
        self.text = content.decode(self.encoding, "replace")
        self.lines = _LINE_END.split(self.text)

    def tokens(self) -> Iterator[tokenize.TokenInfo]:
        """Yield the tokens of the source.

        Raises:
            SyntaxError: it cannot be read to the end.
        """
        plain = re.sub(rb"\r\n?", b"\n", self.content)
        try:
            yield from tokenize.tokenize(io.BytesIO(plain).readline)
        except (tokenize.TokenError, ValueError, RecursionError) as error:
            raise SyntaxError(str(error)) from error

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings of Python are not ours to print
                return ast.parse(_LINE_END.sub("\n", self.text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module([], [])

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All statements, outer ones before what is in them; none where Python cannot read it."""
        return [node for node in ast.walk(self._tree) if isinstance(node, ast.stmt)]

    def _innermost(self, line: int) -> ast.stmt | None:
        holding = [s for s in self.statements if s.lineno <= line <= (s.end_lineno or s.lineno)]
        return max(holding, key=lambda each: each.lineno, default=None)

    def meaning(self, line: int) -> str:
        """Return the statement that a line belongs to, with its variables numbered.

        Of one that holds others it is the head alone. "" if Python cannot read it.
        """
        statement = self._innermost(line)
        if statement is None:
            return ""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return f"{type(statement).__name__} {statement.name}"
        head = copy.copy(statement)
        for name in _INSIDE:
            if hasattr(head, name):
                setattr(head, name, [])
        # Unlike ast.dump(), this is the same in all versions of Python.
        return ast.unparse(_Renamed(self._variables).visit(copy.deepcopy(head)))

    @cached_property
    def _variables(self) -> frozenset[str]:
        """Names that the source gives values to; others are functions, modules and classes."""
        names = set[str]()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
        return frozenset(names)

    def region(self, line: int) -> Region:
        """Return the statement that a line belongs to; of one that holds others, the line alone."""
        inner = self._innermost(line)
        first = last = line
        if inner is not None and not hasattr(inner, "body"):
            first, last = inner.lineno, inner.end_lineno or line
        start, end = self.lines[first - 1], self.lines[last - 1]
        indent = len(start) - len(start.lstrip())
        return Region(first, last, indent + 1, max(len(end.rstrip()), indent) + 1)
