"""Who may import whom, and other rules about the source as a whole.

Each rule is one test, which names all offenders at once.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidy

from .imports import ROOT, SOURCES, Import, all_imports, circles, module_name, reachable

_FOLDERS = ("tidy", "runtime", "patterns", "tests", "docs", "benchmarks", "examples", ".ci")

# What the recorder finds in the process of the script.
_IN_CHILD = {"_tidy_child", "sitecustomize", "torch"}

# Part of the package -> what it may import: other parts, and packages of others.
_MAY_IMPORT = {
    "_version": set[str](),
    "errors": set[str](),
    "runtime": {"numpy", "ml_dtypes"},  # the second an extra
    "trace": {"first_use", "numpy"},
    "averages": {"trace", "numpy"},
    "finding": {"savings", "trace"},
    "cells": set[str](),
    "readers": {"trace", "errors", "numpy", "msgspec", "fsspec"},  # the last an extra
    "profiler": {
        "_version",
        "averages",
        "cells",
        "errors",
        "readers",  # for load_nvprof
        "runtime",
        "trace",
        "numpy",
        "msgspec",
        "nvtx",  # an extra, like the next
        "ittapi",
    },
    "patterns": {"account", "trace", "finding", "errors", "savings", "numpy"},
    "account": {"trace", "numpy"},
    "first_use": set[str](),
    "jobs": {"account", "first_use", "trace", "numpy"},
    "savings": {"trace", "numpy"},
    "page": {
        "account",
        "check",
        "diff",
        "finding",
        "patterns",
        "report",
        "summary",
        "trace",
        "numpy",
    },
    "report": set("_version account check finding jobs patterns summary trace numpy rich".split()),
    "summary": {
        "_version",
        "account",
        "check",
        "errors",
        "finding",
        "first_use",
        "jobs",
        "savings",
        "trace",
        "msgspec",
        "numpy",
    },
    "whole_file": set[str](),
    "check": {
        "account",
        "errors",
        "finding",
        "jobs",
        "patterns",
        "savings",
        "trace",
        "whole_file",
        "msgspec",
        "numpy",
        "tomli",
        "tomllib",  # from Python 3.11 on
    },
    "api": {"averages", "check", "errors", "loading", "patterns", "report", "trace"},
    "loading": {"averages", "readers", "report", "trace"},
    "progress": {"trace", "rich"},
    "diff": {
        "account",
        "check",
        "errors",
        "finding",
        "patterns",
        "report",
        "trace",
        "msgspec",
        "numpy",
        "rich",
    },
    "commands": {
        "account",
        "api",
        "averages",
        "check",
        "click",
        "diff",
        "errors",
        "finding",
        "page",
        "patterns",
        "progress",
        "readers",
        "reducing",
        "report",
        "rich",
        "run",
        "runtime",
        "summary",
        "trace",
        "verify",
        "whole_file",
    },
    "reducing": {
        *"account api check errors finding jobs patterns readers summary trace numpy".split(),
        "dask",  # an extra, as the next
        "distributed",
    },
    "retiming": {
        "profiler",
        "savings",  # where a device works beside the host, what recording adds is taken off by it
        "runtime",
        "trace",
        "numpy",
        "msgspec",
    },
    "run": {
        "cells",
        "errors",
        "profiler",
        "progress",
        "readers",
        "report",
        "retiming",
        "runtime",
        "trace",
        "numpy",
        "msgspec",
        *_IN_CHILD,
    },
    "attach": {"api", "averages", "cells", "errors", "report", "run", "trace", "click", "IPython"},
    "integrations": {"attach", "errors"},
    "testing": {
        "__init__",  # what the module `tidy` has, the fixture has
        "attach",
        "check",
        "errors",
        "finding",
        "page",
        "patterns",
        "report",
        "trace",
        "numpy",
        "pytest",
    },
    "verify": {
        "account",
        "check",
        "errors",
        "finding",
        "patterns",
        "savings",
        "run",
        "runtime",
        "trace",
        "numpy",
    },
    "cli": {"_version", "click", "commands", "errors", "patterns", "run"},
    "__main__": {"cli"},
    "__init__": {
        *"_version api attach errors finding loading patterns profiler report trace".split()
    },
}

# Imports for type checkers alone that close a circle, at most five, each with its reason.
_TYPE_CIRCLES = {
    # An event is a view on a row of the trace that makes it.
    ("tidy.trace.event", "tidy.trace.trace"),
    # A tensor knows the node that made it and how it views its base; the node knows its tensors.
    ("tidy.runtime.engine.node", "tidy.runtime.engine.tensor"),
    ("tidy.runtime.engine.tensor", "tidy.runtime.engine.view"),
    # The door to devices is asked about both, and the engine goes through it.
    ("tidy.runtime.accelerator", "tidy.runtime.engine.node"),
    ("tidy.runtime.accelerator", "tidy.runtime.engine.tensor"),
}

# Classes that may share a name: those whose names users write.
_SAME_CLASS_NAMES = {
    "DataParallel",  # torch.nn.DataParallel, and the rule that advises against it
    "Recorder",  # tidy.Recorder, and what it starts, which `tidy run` starts too
    "profile",  # torch.profiler.profile and torch.autograd.profiler.profile
}


def _texts() -> Iterator[Path]:
    """Sources, documentation and scripts."""
    yield from (path for path in sorted(ROOT.iterdir()) if path.suffix in (".py", ".md", ".toml"))
    yield ROOT / "Makefile"
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md", ".sh", "") and path.is_file():
                yield path


def _part(module: str) -> str:
    """`trace` for tidy.trace.tree; the first name for modules of others."""
    top, _, rest = module.partition(".")
    return (rest.partition(".")[0] or "__init__") if top == "tidy" else top


def _own_imports() -> list[Import]:
    """The imports between modules of the package."""
    return [each for each in all_imports() if each.imported.partition(".")[0] == "tidy"]


def test_imports_go_one_way() -> None:
    wrong = [
        f"{each.importer} imports {each.imported}"
        for each in all_imports()
        if (part := _part(each.imported)) not in _MAY_IMPORT[_part(each.importer)]
        and part != _part(each.importer)
        and (each.imported.startswith("tidy.") or part not in sys.stdlib_module_names)
    ]
    assert wrong == []


def test_no_circle_of_imports() -> None:
    """None at load time, and none with the imports in functions either."""
    found = circles(each for each in _own_imports() if each.kind != "type")
    assert [sorted(circle) for circle in found] == []


def test_no_circle_of_packages() -> None:
    """Nor between the parts of the package, imports for types alone included."""
    parts = [
        Import(_part(each.importer), _part(each.imported), each.kind) for each in _own_imports()
    ]
    found = circles(each for each in parts if each.importer != each.imported)
    assert [sorted(circle) for circle in found] == []


def test_few_imports_for_types_close_a_circle() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for each in _own_imports():
        graph[each.importer].add(each.imported)
    closing = {
        (each.importer, each.imported)
        for each in _own_imports()
        if each.kind == "type" and each.importer in reachable(graph, each.imported)
    }
    assert closing == _TYPE_CIRCLES
    assert len(_TYPE_CIRCLES) <= 5


def test_only_the_command_line_imports_the_command_line() -> None:
    importers = {each.importer for each in all_imports() if _part(each.imported) == "cli"}
    assert importers <= {"tidy.__main__"}


def test_the_command_line_imports_lazily() -> None:
    at_once = {
        _part(each.imported)
        for each in all_imports()
        if each.importer == "tidy.cli" and each.kind == "load"
    }
    # Of the commands it takes the options alone, which import nothing but click.
    assert at_once - sys.stdlib_module_names <= {"_version", "click", "commands"}


def test_only_the_command_line_prints_or_exits() -> None:
    calls = [
        f"{module_name(path)}:{node.lineno}"
        for path in SOURCES
        if path.name not in ("cli.py", "__main__.py")
        if re.search(r"\b(?:print|_?exit)\s*\(", text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "sys.exit", "exit", "os._exit")
    ]
    assert calls == []


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module_name(path))
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in _SAME_CLASS_NAMES} == {}


def test_files_are_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in _texts()
        if path.suffix == ".py"
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_no_path_of_one_machine() -> None:
    folders = [f"{each}/" for each in (ROOT, ROOT.parent, Path.home()) if each != Path(each.anchor)]
    texts = {path: path.read_text("utf-8", "replace") for path in _texts()}
    assert [path for path, text in texts.items() if any(each in text for each in folders)] == []


_IMPORTED = """
import sys
before = set(sys.modules)
import tidy
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(added - set(sys.stdlib_module_names)))
"""


def test_importing_tidy_imports_nothing_of_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["tidy"]


def test_public_names() -> None:
    assert tidy.__all__ == sorted(tidy.__all__)
    assert {name for name in tidy.__all__ if getattr(tidy, name, None) is None} == set()
    assert {name for name in dir(tidy) if not name.startswith("__")} == set(tidy.__all__) - {
        "__version__"
    }
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tidy.no_such_name


_FACES = """
import importlib, sys
import tidy.attach.magic, tidy.profiler.autograd_profiler, tidy.testing.plugin
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    listed = {each for each in dir(package) if not each.startswith("__")}
    print(name, *sorted(listed ^ set(package.__all__)))
    assert all(getattr(package, each, None) is not None for each in listed)
"""


def test_packages_list_what_is_public() -> None:
    """What completes after a dot is what users are to write, not what a package imports."""
    names = ["attach", "integrations", "patterns", "profiler", "testing", "trace"]
    packages = [f"tidy.{name}" for name in names]
    done = subprocess.run(
        [sys.executable, "-c", _FACES, *packages],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == packages


def test_every_package_is_installed() -> None:
    """A package that pyproject.toml does not list is missing from what pip installs."""
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    packages = {module_name(path) for path in SOURCES if path.name == "__init__.py"}
    assert set(settings["packages"]) == packages
    assert len(settings["packages"]) == len(packages), "each is listed once"


def test_a_source_distribution_has_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """setup.py puts cli.py into its place, so what is built from a source distribution needs it."""
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **settings: given.update(settings))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    build = given["cmdclass"]["build_py"](setuptools.Distribution({"packages": []}))
    build.finalize_options()
    assert "cli.py" in build.get_source_files()
