"""Modules that short commands do not load, since nobody should wait for what is not used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ..test_architecture import ROOT
from .traces import clean, write

_LOADED = """
import sys
sys.argv = ["tidy", *sys.argv[1:]]
from tidy.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(sys.modules), file=sys.stderr)
"""
# What other commands, forms of the report, files and several ranks need.
_RARE = {
    *"tidy.averages tidy.diff tidy.page.document tidy.profiler tidy.reducing tidy.run".split(),
    *"tidy.jobs.matching tidy.jobs.replay tidy.summary.form tidy.summary.job".split(),
    *"tidy.report.job_text tidy.report.json_report tidy.report.sarif tidy.runtime".split(),
    *"email hashlib importlib.metadata logging multiprocessing statistics tarfile zipfile".split(),
}


def _loaded(*command: str | Path) -> set[str]:
    """Return the modules that a command has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_a_report_of_one_trace(tmp_path: Path) -> None:
    loaded = _loaded("report", write(tmp_path / "clean.json", clean()))
    assert "tidy.report.text" in loaded
    assert loaded & _RARE == set()


_ASKS_FOR_AVERAGES = '''
from tidy import Pattern

class Sums(Pattern):
    """An addition."""
    code = "XYZ001"

    def match(self, event):
        if "aten::add" not in event.trace.table():
            raise SystemExit("no averages")
'''


def test_a_rule_of_ones_own_may_ask_for_averages(tmp_path: Path) -> None:
    rules = tmp_path / "sums.py"
    rules.write_text(_ASKS_FOR_AVERAGES)
    trace = write(tmp_path / "clean.json", clean())
    assert "tidy.averages" in _loaded("report", trace, "--patterns", rules)


@pytest.mark.parametrize("command", [["--version"], ["--help"], ["report", "--help"]])
def test_help(command: list[str]) -> None:
    loaded = _loaded(*command)
    assert "tidy.cli" in loaded
    assert loaded & {"numpy", "rich", "msgspec", "tidy.check.settings", "tidy.patterns"} == set()


@pytest.mark.parametrize("name", ["jobs", "summary", "trace"])
def test_names_that_are_fetched_when_first_used(name: str) -> None:
    """None is that of a module of the package, which Python would put in its place."""
    package = import_module(f"tidy.{name}")
    for path in (ROOT / "tidy" / name).glob("[a-z]*.py"):
        import_module(f"tidy.{name}.{path.stem}")
    assert not any(isinstance(getattr(package, each), ModuleType) for each in package.__all__)
    assert all(getattr(package, each, None) is not None for each in package.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


@pytest.mark.parametrize(
    ("package", "module"), [("jobs", "words"), ("summary", "codec"), ("trace", "units")]
)
def test_modules_that_are_imported_when_first_used(package: str, module: str) -> None:
    program = (
        f"import tidy.{package} as package\n"
        "assert set(dir(package)) == set(package.__all__), dir(package)\n"
        f"assert package.{module}.__name__ == 'tidy.{package}.{module}'\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_the_types_of_a_summary_are_known_when_the_program_runs() -> None:
    program = (
        "import typing, tidy.summary\n"
        "hints = typing.get_type_hints(tidy.summary.Summary)\n"
        "assert hints['collectives'].__name__ == 'Collectives'\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
