"""A second `tidy.runtime` without the hook for observers, to see what the hook costs.

It is loaded from the same files under another name; wherever the list `active` is tested, in the
files and in the operators' generated code, it stands for False.
"""

from __future__ import annotations

import ast
import importlib
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

NAME = "unwatched_runtime"


class _WithoutTests(ast.NodeTransformer):
    """Puts False for `active` where it is what a condition asks, alone or with other questions."""

    def visit_If(self, node: Any) -> Any:
        self.generic_visit(node)
        node.test = _bare(node.test)
        return node

    visit_IfExp = visit_If  # noqa: N815 - ast's name


def _bare(test: Any) -> Any:
    if isinstance(test, ast.Name) and test.id == "active":
        return ast.Constant(False)
    if isinstance(test, ast.UnaryOp):
        test.operand = _bare(test.operand)
    elif isinstance(test, ast.BoolOp):
        test.values = [_bare(value) for value in test.values]
    return test


def _compiled(source: Any, name: str, mode: str = "exec", **rest: Any) -> CodeType:
    tree = ast.parse(source, name, mode)
    if mode == "exec":
        tree = ast.fix_missing_locations(_WithoutTests().visit(tree))
    return compile(tree, name, mode, **rest)


class _Files(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:  # so that no .pyc is read or written
        path = self.get_filename(fullname)
        return _compiled(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["compile"] = _compiled  # for the generated operators
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, _: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname.startswith(f"{NAME}.") else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Files(fullname, spec.origin)
        return spec


def load(runtime: ModuleType) -> ModuleType:
    """The copy of `runtime`."""
    path = Path(str(runtime.__file__))
    sys.meta_path.insert(0, _Finder())
    loader, folder = _Files(NAME, str(path)), [str(path.parent)]
    spec = spec_from_file_location(NAME, path, loader=loader, submodule_search_locations=folder)
    assert spec is not None
    made = sys.modules[NAME] = module_from_spec(spec)
    loader.exec_module(made)
    importlib.import_module(f"{NAME}.optim")
    return made
