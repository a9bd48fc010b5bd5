"""What a script names of PyTorch that tidy.runtime lacks, read from its source."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_ASKED = {"hasattr", "getattr", "TYPE_CHECKING", "version", "__version__"}  # may not be reached
# A test with one of these in a name asks for a device, or for other processes, that is not there.
_ELSEWHERE = re.compile(r"cuda|gpu|mps|xpu|npu|tpu|hpu|distributed|ddp", re.IGNORECASE)
_MOST_FILES = 100


def lacking_in_files(script: str, runtime: ModuleType) -> list[tuple[str, int, str]]:
    """(file, line, name) of what the script lacks, and the modules beside it that it imports."""
    found: dict[str, tuple[str, int]] = {}
    files = [script]
    for file in files:  # those that it imports are appended meanwhile
        try:
            with open(file, encoding="utf-8") as opened:
                source = opened.read()
        except (OSError, UnicodeDecodeError):
            continue  # no file: a module, or a script that Python itself will complain of
        for line, name in lacking(source, runtime):
            found.setdefault(name, (file, line))
        beside = dict.fromkeys(_beside(source, os.path.dirname(file), os.path.dirname(script)))
        new = [each for each in beside if each not in files]
        files.extend(new[: _MOST_FILES - len(files)])
    return [(file, line, name) for name, (file, line) in found.items()]


def _beside(source: str, folder: str, top: str) -> list[str]:
    """The files below the script's folder that a file there imports."""
    found = list[str]()
    for node in _unguarded(_parsed(source)):
        names = list[tuple[str, str]]()
        if isinstance(node, ast.Import):
            names = [(top, each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = os.path.join(folder, *[os.pardir] * (node.level - 1)) if node.level else top
            home = f"{node.module}." if node.module else ""
            names = [(base, home + each.name) for each in node.names] + [(base, home.rstrip("."))]
        for base, name in names:
            place = os.path.normpath(os.path.join(base, *name.split(".")))
            files = (f"{place}.py", os.path.join(place, "__init__.py"))
            found += [file for file in files if name and os.path.isfile(file)]
    return found


def lacking(source: str, runtime: ModuleType) -> list[tuple[int, str]]:
    """(line, name) of all that is named below `torch` and is not there; each name once.

    Methods of tensors are not found: what a variable holds is not known from the source. Where a
    script is prepared for a name that is not there, it is not named either.
    """
    tree = _parsed(source)
    nodes = list(_unguarded(tree, runtime))
    known, named = _names(nodes)
    made = _bound(tree) & known.keys()  # it may be something else by the time that it is used
    assigned = list[list[str]]()
    for node in nodes:
        path = _path(node) if isinstance(node, ast.Attribute) else None
        if path is None or path[0] not in known or path[0] in made:
            continue
        parts = [*known[path[0]], *path[1:]]
        if isinstance(node.ctx, ast.Load):
            named.append((node.lineno, parts))
        else:
            assigned.append(parts)
    found: dict[str, int] = {}
    for line, parts in sorted(named):
        missing = _missing(parts, runtime)
        if missing is not None and missing.split(".") not in assigned:
            found.setdefault(missing, line)
    return [(line, name) for name, line in found.items()]


def _parsed(source: str) -> ast.Module:
    """Nothing where Python says what is wrong; what is nested too deeply it runs, but not shows."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _unguarded(tree: ast.AST, runtime: ModuleType | None = None) -> Iterator[Any]:
    """All nodes, but those that run only where what they name was asked for, or may fail."""
    todo, later = [(tree, False)], _annotations_are_text(tree)
    while todo:
        node, inside = todo.pop()
        yield node
        skipped = set(map(id, _guarded(node, runtime)))
        if later or (inside and isinstance(node, ast.AnnAssign)):
            skipped |= {id(getattr(node, name, None)) for name in ("annotation", "returns")}
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        children = [each for each in ast.iter_child_nodes(node) if id(each) not in skipped]
        todo += [(each, inside) for each in reversed(children)]


def _annotations_are_text(tree: Any) -> bool:
    """Whether Python does not look up what annotations name."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(each.name == "annotations" for each in node.names)
        for node in getattr(tree, "body", ())
    )


def _guarded(node: ast.AST, runtime: ModuleType | None) -> list[ast.AST]:
    """The children of a node that a handler or a test is there for."""
    if isinstance(node, ast.Try):
        caught = {name for each in node.handlers for name in _caught(each)}
        if not caught & _CAUGHT:
            return []
        imported = _names([n for each in node.body for n in ast.walk(each)])[1]
        there = runtime and not any(_missing(parts, runtime) for _, parts in imported)
        return [*node.body, *(node.handlers if imported and there else ())]
    if not isinstance(node, (ast.If, ast.IfExp)):
        return []
    used = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
    used |= {n.attr for n in ast.walk(node.test) if isinstance(n, ast.Attribute)}
    words = {str(n.value) for n in ast.walk(node.test) if isinstance(n, ast.Constant)}
    parts: Any = (node.body, node.orelse)
    yes, no = ([part] if isinstance(node, ast.IfExp) else [*part] for part in parts)
    if used & _ASKED:
        return [*yes, *no]
    if not any(map(_ELSEWHERE.search, used | words)):
        return []
    negated = any(isinstance(n, (ast.Not, ast.NotEq, ast.NotIn)) for n in ast.walk(node.test))
    return no if negated else yes


def _caught(handler: ast.ExceptHandler) -> set[str]:
    kind = handler.type or ast.Name("BaseException")
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return {each.id if isinstance(each, ast.Name) else "Exception" for each in kinds}


def _bound(tree: ast.AST) -> set[str]:
    """Names that are given to something else than an import: variables, arguments, definitions."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            home = "" if isinstance(node, ast.Import) else "." * node.level + (node.module or "")
            for each in node.names:
                if (home or each.name).partition(".")[0] != "torch":
                    found.add(each.asname or each.name.partition(".")[0])
    return found


def _names(nodes: list[Any]) -> tuple[dict[str, list[str]], list[tuple[int, list[str]]]]:
    """What of PyTorch each name stands for that is imported; and all that is."""
    known: dict[str, list[str]] = {}
    imported: list[tuple[int, list[str]]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                parts = each.name.split(".")
                if parts[0] == "torch":
                    imported.append((node.lineno, parts))
                    known[each.asname or "torch"] = parts if each.asname else ["torch"]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            home = node.module.split(".")
            for each in node.names if home[0] == "torch" else ():
                parts = home if each.name == "*" else [*home, each.name]
                imported.append((node.lineno, parts))
                known[each.asname or each.name] = parts
    return known, imported


def _path(node: ast.AST) -> list[str] | None:
    """`torch.nn.Linear` as its parts; None where it does not begin with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def _missing(parts: list[str], runtime: ModuleType) -> str | None:
    """The first part that is not there, with its path; only modules are looked into."""
    place: Any = runtime
    for number, part in enumerate(parts[1:], 2):
        if not isinstance(place, ModuleType):
            return None
        try:
            place = getattr(place, part)
        except AttributeError:
            try:
                place = import_module(f"{place.__name__}.{part}")
            except ImportError:
                return ".".join(parts[:number])
        except Exception:  # what cannot be had at all says so when it is used
            return None
    return None
