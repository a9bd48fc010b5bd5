"""All imports between the modules of the package, read from their sources.

An import is of one of three kinds: "load" happens when the module is imported, "lazy" when a
function is called, and "type" never, since it stands under `if TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    [p for f in ("tidy", "runtime", "patterns") for p in (ROOT / f).rglob("*.py")]
    + [ROOT / "cli.py"]
)


@dataclass(frozen=True, order=True)
class Import:
    """`importer` imports the module `imported`; kind is "load", "lazy" or "type"."""

    importer: str
    imported: str
    kind: str


def module_name(path: Path) -> str:
    """The name that a source file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "tidy" else ("tidy", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def all_imports() -> tuple[Import, ...]:
    """Every import of every source file, those of other packages too."""
    modules = {module_name(path) for path in SOURCES}
    return tuple(each for path in SOURCES for each in _imports_of(path, modules))


def _imports_of(path: Path, modules: set[str]) -> Iterator[Import]:
    importer = module_name(path)
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
    for node, kind in _statements(ast.parse(path.read_text("utf-8")), "load"):
        if isinstance(node, ast.Import):
            yield from (Import(importer, alias.name, kind) for alias in node.names)
            continue
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        submodules = {f"{base}.{alias.name}" for alias in node.names} & modules
        yield from (Import(importer, each, kind) for each in sorted(submodules))
        if base not in modules or len(submodules) < len(node.names):
            yield Import(importer, base, kind)


def _statements(node: ast.AST, kind: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # which imports nothing
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, kind
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(child, "type")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _statements(child, "type" if kind == "type" else "lazy")
        else:
            yield from _statements(child, kind)


def circles(imports: Iterable[Import]) -> list[frozenset[str]]:
    """The largest sets of modules in which each reaches each other by imports, two or more."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, set()).add(each.imported)
    reach = {module: reachable(graph, module) for module in graph}
    tied = {
        frozenset(other for other in reach[module] if module in reach.get(other, ()))
        for module in graph
        if module in reach[module]
    }
    return sorted(tied, key=sorted)


def reachable(graph: Mapping[str, Iterable[str]], module: str) -> set[str]:
    """What one gets to from a module by one import or more."""
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        for each in graph.get(ahead.pop(), ()):
            if each not in seen:
                seen.add(each)
                ahead.append(each)
    return seen
