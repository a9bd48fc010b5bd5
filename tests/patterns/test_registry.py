"""Rules of one's own: from files, from modules, from installed plug-ins."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from tidy.errors import PatternLoadError
from tidy.patterns.registry import load_patterns

from .rules import OWN_RULES

_OURS = ("tidy_patterns_", "fake_plugin", "my_package_of_rules", "rules_of_this_folder")
_RULE = '''
from tidy import Pattern


class TooManyCopies(Pattern):
    """Copies."""

    code = "{code}"


class Helper(Pattern):
    """A base without a code is no rule."""
'''


@pytest.fixture(autouse=True)
def _keep_imports() -> Iterator[None]:
    """What a test imports is gone afterwards."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith(_OURS)]:
        del sys.modules[name]


def _write(path: Path, code: str = "ABC001") -> Path:
    path.write_text(_RULE.format(code=code), "utf-8")
    return path


def _added(*sources: str) -> list[str]:
    codes = {rule.code for rule in load_patterns()}
    return [rule.code for rule in load_patterns(sources) if rule.code not in codes]


def test_a_file(tmp_path: Path) -> None:
    assert _added(str(_write(tmp_path / "my_rules.py"))) == ["ABC001"]


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one = _write(tmp_path / "one" / "rules.py", "ABC001")
    two = _write(tmp_path / "two" / "rules.py", "ABC002")
    assert _added(str(one), str(two)) == ["ABC001", "ABC002"]


def test_the_same_file_twice(tmp_path: Path) -> None:
    path = str(_write(tmp_path / "rules.py"))
    with pytest.raises(PatternLoadError, match="ABC001 is taken"):
        load_patterns([path, path])


def test_a_module_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "my_package_of_rules"
    package.mkdir()
    _write(package / "copies.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert _added("my_package_of_rules.copies") == ["ABC001"]


def test_a_module_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "rules_of_this_folder.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != ""])
    assert _added("rules_of_this_folder") == ["ABC001"]


def _install(folder: Path, entry_point: str) -> None:
    """What pip leaves behind of a distribution with one entry point."""
    info = folder / "fake_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tidy.patterns]\n{entry_point}\n")


@pytest.mark.parametrize(
    "entry_point", ["mine = fake_plugin_rules", "mine = fake_plugin_rules:TooManyCopies"]
)
def test_an_installed_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry_point: str
) -> None:
    before = [rule.code for rule in load_patterns()]
    _write(tmp_path / "fake_plugin_rules.py")
    _install(tmp_path, entry_point)
    monkeypatch.syspath_prepend(tmp_path)
    assert [rule.code for rule in load_patterns()] == ["ABC001", *before]


def test_a_plugin_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [rule.code for rule in load_patterns()]
    folder = tmp_path / "packed"
    folder.mkdir()
    _write(folder / "fake_plugin_archived.py")
    _install(folder, "mine = fake_plugin_archived")
    archive = shutil.make_archive(str(folder), "zip", folder)
    monkeypatch.syspath_prepend(archive)
    assert [rule.code for rule in load_patterns()] == ["ABC001", *before]


class _OtherFinder:
    """Finds an installed package that is in no folder of `sys.path`."""

    def __init__(self, info: Path) -> None:
        self._found = [PathDistribution(info)]

    def find_spec(self, *_: object) -> None:
        """Find no module."""

    def find_distributions(self, _: object) -> list[PathDistribution]:
        return self._found


def test_a_plugin_that_another_finder_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [rule.code for rule in load_patterns()]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    _install(elsewhere, "mine = fake_plugin_elsewhere")
    _write(tmp_path / "fake_plugin_elsewhere.py")
    monkeypatch.syspath_prepend(tmp_path)
    finder = _OtherFinder(elsewhere / "fake_plugin-1.0.dist-info")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    assert [rule.code for rule in load_patterns()] == ["ABC001", *before]


@pytest.mark.parametrize(
    ("entry_point", "problem"),
    [
        ("mine = no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
        ("mine = fake_plugin_rules:Missing", "has no attribute 'Missing'"),
        ("mine = fake_plugin_rules:Path", "no subclass of tidy.Pattern"),
        ("mine = fake_plugin_rules:text", "'a text' is no subclass of tidy.Pattern"),
        ("mine = fake_plugin_empty", "defines no rule"),
        ("mine = fake_plugin_exit", "SystemExit"),
    ],
)
def test_a_plugin_that_does_not_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry_point: str, problem: str
) -> None:
    (tmp_path / "fake_plugin_rules.py").write_text("from pathlib import Path\ntext = 'a text'\n")
    (tmp_path / "fake_plugin_empty.py").write_text("from tidy import Pattern\n")
    (tmp_path / "fake_plugin_exit.py").write_text("raise SystemExit(0)\n")
    _install(tmp_path, entry_point)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PatternLoadError) as caught:
        load_patterns()
    message = str(caught.value)
    assert message.startswith(
        "plug-in 'mine' (fake_plugin" if "fake" in entry_point else "plug-in 'mine'"
    )
    assert problem in message
    assert "\n" not in message


_BROKEN = {
    "def f(:\n": "SyntaxError at line 1",
    "import no_such_module_anywhere\n": "No module named 'no_such_module_anywhere'",
    "raise ValueError('two\\nlines')\n": "ValueError: two lines",
    "raise SystemExit(0)\n": "SystemExit",
    "x = 1\n": "defines no rule",
    "from tidy.patterns.rules.fp32_matmul import FP32Matmul\n": "defines no rule",
    _RULE.format(code=""): "defines no rule",
    _RULE.format(code="ABC1"): "TooManyCopies.code is 'ABC1'",
    _RULE.format(code="abc001"): "three capital letters and three digits",
    _RULE.format(code="TDY404"): "code TDY404 is taken by",
    "\0": "does not load",
}


@pytest.mark.parametrize("text", _BROKEN, ids=_BROKEN.values())
def test_a_file_that_does_not_load(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my_rules.py"
    path.write_bytes(text.encode())
    with pytest.raises(PatternLoadError) as caught:
        load_patterns([str(path)])
    message = str(caught.value)
    assert _BROKEN[text] in message
    assert "my_rules" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "source", ["missing.py", f"no{os.sep}such{os.sep}folder", "no_such_module", "", ".x"]
)
def test_a_source_that_is_not_there(source: str) -> None:
    with pytest.raises(PatternLoadError, match="--patterns") as caught:
        load_patterns([source])
    assert "\n" not in str(caught.value)


def test_own_rules_need_no_plugin() -> None:
    assert {rule.__module__.rpartition(".")[0] for rule in OWN_RULES} == {"tidy.patterns.rules"}
