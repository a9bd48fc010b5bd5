"""Who may import whom, and other rules about the source as a whole."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tidy

ROOT = Path(__file__).parents[1]
_SOURCES = sorted(
    [p for f in ("tidy", "runtime", "patterns") for p in (ROOT / f).rglob("*.py")]
    + [ROOT / "cli.py"]
)
_FOLDERS = ("tidy", "runtime", "patterns", "tests", "docs", "benchmarks", "examples", ".ci")


def _texts() -> Iterator[Path]:
    """Sources, documentation and scripts."""
    yield from (path for path in sorted(ROOT.iterdir()) if path.suffix in (".py", ".md", ".toml"))
    yield ROOT / "Makefile"
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md", ".sh", "") and path.is_file():
                yield path


# What the recorder finds in the process of the script.
_IN_CHILD = {"_tidy_child", "sitecustomize", "torch"}

# Part of the package -> what it may import: other parts, and packages of others.
_MAY_IMPORT = {
    "_version": set[str](),
    "errors": set[str](),
    "runtime": {"numpy", "ml_dtypes"},  # the second an extra
    "trace": {"averages", "numpy"},
    "averages": {"trace", "numpy"},
    "finding": {"trace"},
    "readers": {"trace", "errors", "numpy", "msgspec"},
    "profiler": {
        "averages",
        "errors",
        "readers",  # for load_nvprof
        "runtime",
        "trace",
        "numpy",
        "nvtx",  # an extra, like the next
        "ittapi",
    },
    "patterns": {"trace", "finding", "errors", "numpy"},
    "report": {"trace", "finding", "_version", "rich"},
    "api": {"errors", "patterns", "readers", "report", "trace"},
    "progress": {"readers", "rich"},
    "input_files": {"errors", "progress", "readers", "report", "trace"},
    "command": {"api", "errors", "finding", "input_files", "patterns", "report", "trace"},
    "table_output": {"_version", "averages", "report", "trace"},
    "table_command": {"averages", "errors", "input_files", "table_output", "trace"},
    "launch": {
        "command",
        "errors",
        "profiler",
        "readers",
        "report",
        "runtime",
        "trace",
        "numpy",
        "msgspec",
        *_IN_CHILD,
    },
    "cli": {"_version", "click", "command", "errors", "launch", "patterns", "table_command"},
    "__main__": {"cli"},
    "__init__": {"_version", "api", "finding", "patterns", "profiler", "report", "trace"},
}


@dataclass(frozen=True)
class Import:
    """One imported module, and whether that happens when the file is imported."""

    module: str
    at_once: bool


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _module(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    parts = relative.parts if relative.parts[0] == "tidy" else ("tidy", *relative.parts)
    return ".".join(parts)


def _part(module: str) -> str:
    """`trace` for tidy.trace.tree; the first name for modules of others."""
    top, _, rest = module.partition(".")
    return (rest.partition(".")[0] or "__init__") if top == "tidy" else top


def _imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text("utf-8"))

    def is_put_off(node: ast.AST) -> bool:
        if isinstance(node, ast.If):
            return "TYPE_CHECKING" in ast.unparse(node.test)
        return isinstance(node, ast.FunctionDef)

    lazy = {id(each) for node in ast.walk(tree) if is_put_off(node) for each in ast.walk(node)}
    package = _module(path).split(".")[:-1]
    for node in ast.walk(tree):
        at_once = id(node) not in lazy
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = [*above, *(node.module.split(".") if node.module else [])]
            if base == ["tidy"]:
                yield from (Import(f"tidy.{alias.name}", at_once) for alias in node.names)
            else:
                yield Import(".".join(base), at_once)


each_source = pytest.mark.parametrize("path", _SOURCES, ids=_module)


@each_source
def test_imports_go_one_way(path: Path) -> None:
    own = _part(_module(path))
    allowed = _MAY_IMPORT[own] | {own}
    found = {_part(each.module) for each in _imports(path)} - sys.stdlib_module_names
    assert found <= allowed


@each_source
def test_only_the_command_line_imports_the_command_line(path: Path) -> None:
    if _module(path) != "tidy.__main__":
        assert "cli" not in {_part(each.module) for each in _imports(path)} - {_part(_module(path))}


def test_the_command_line_imports_lazily() -> None:
    at_once = {_part(each.module) for each in _imports(ROOT / "cli.py") if each.at_once}
    assert at_once - sys.stdlib_module_names <= {"_version", "click"}


def test_the_trace_imports_its_averages_lazily() -> None:
    files = (ROOT / "tidy" / "trace").glob("*.py")
    at_once = {_part(each.module) for path in files for each in _imports(path) if each.at_once}
    assert "averages" not in at_once


@each_source
def test_only_the_command_line_prints_or_exits(path: Path) -> None:
    if path.name in ("cli.py", "__main__.py"):
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("print", "sys.exit", "exit", "os._exit")


@pytest.mark.parametrize("path", [p for p in _texts() if p.suffix == ".py"], ids=_shown)
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", list(_texts()), ids=_shown)
def test_no_path_of_one_machine(path: Path) -> None:
    text = path.read_text("utf-8", "replace")
    for folder in (ROOT, ROOT.parent, Path.home()):
        assert folder == Path(folder.anchor) or f"{folder}/" not in text


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
    assert set(tidy.__all__) <= set(dir(tidy))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tidy.no_such_name


def test_every_package_is_installed() -> None:
    """A package that pyproject.toml does not list is missing from what pip installs."""
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    found = {
        _module(path).removesuffix(".__init__") for path in _SOURCES if path.name == "__init__.py"
    }
    assert set(settings["packages"]) == found
