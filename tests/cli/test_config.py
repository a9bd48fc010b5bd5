"""The configuration of a project: where it is found, what holds, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

import tidy as package

from .command import tidy
from .traces import loop, write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TRACE = "runs/trace.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of a project, the root of a repository, with a trace that has one warning."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    write(tmp_path / "project" / _TRACE, loop())
    return tmp_path / "project"


def _say(project: Path, text: str, name: str = "tidy.toml") -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text, encoding="utf-8")


def _codes(project: Path, *options: str | Path) -> list[str]:
    result = tidy("report", _TRACE, "--format", "json", *options, cwd=project)
    assert result.err == ""
    return [each["code"] for each in result.json()["traces"][0]["findings"]]


def test_without_a_configuration(project: Path) -> None:
    assert _codes(project) == ["TDY404"]
    assert tidy("report", _TRACE, cwd=project).code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tidy.toml", 'ignore = ["TDY404"]'),
        ("pyproject.toml", '[project]\nname = "x"\n[tool.tidy]\nignore = ["TDY404"]'),
        ("tidy.toml", '\N{BYTE ORDER MARK}ignore = ["for-loop-indexing"]\r\n'),
        ("tidy.toml", 'select = ["TDY6"]'),
        ("tidy.toml", "[rules.TDY404]\nfewest-rounds = 13"),
        ("tidy.toml", "[rules.for-loop-indexing]\nfewest-rounds = 13"),
        ("tidy.toml", '[per-path-ignores]\n"train.py" = ["TDY4"]'),
        ("tidy.toml", '[per-path-ignores]\n"*.py" = ["TDY404"]'),
        ("tidy.toml", '[per-path-ignores]\n"./**/train.py" = ["for-loop-indexing"]'),
    ],
)
def test_a_configuration_holds(project: Path, name: str, text: str) -> None:
    _say(project, text, name)
    assert _codes(project) == []
    assert tidy("report", _TRACE, cwd=project).code == 0
    assert _codes(project, "--no-config") == ["TDY404"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[rules.TDY404]\nfewest-rounds = 12",
        '[per-path-ignores]\n"tests/**" = ["TDY4"]\n"train.py" = ["TDY6"]',
        '[per-path-ignores]\n"*/train.py" = ["TDY4"]',
        '[per-path-ignores]\n"[!t]rain.py" = ["TDY4"]\n"trai.py" = ["TDY4"]\n"train.p" = ["TDY4"]',
    ],
)
def test_what_a_configuration_does_not_mean(project: Path, text: str) -> None:
    _say(project, text)
    assert _codes(project) == ["TDY404"]


def test_severities_and_forms(project: Path) -> None:
    _say(project, 'fail-on = "never"\nformat = "markdown"\ntop = 3\nsavings = "off"')
    result = tidy("report", _TRACE, cwd=project)
    assert result.code == 0
    assert result.out.startswith("## tidy")
    assert tidy("report", _TRACE, "--fail-on", "info", cwd=project).code == 1
    _say(project, "warn-from = 100.0")
    assert tidy("report", _TRACE, cwd=project).code == 0
    assert tidy("report", _TRACE, "--warn-from", "1", cwd=project).code == 1


def test_files_of_the_report_are_relative_to_the_configuration(project: Path) -> None:
    _say(project, 'output = ["-", "out.sarif", "markdown=out.txt"]')
    (project / "below").mkdir()
    result = tidy("report", f"../{_TRACE}", cwd=project / "below")
    assert "TDY404" in result.out
    assert "runs" in json.loads((project / "out.sarif").read_text("utf-8"))
    assert (project / "out.txt").read_text("utf-8").startswith("## tidy")
    # Who asks for a form on the command line wants that one, and sees it.
    (project / "out.txt").unlink()
    assert json.loads(tidy("report", _TRACE, "--format", "json", cwd=project).out)
    assert not (project / "out.txt").exists()


def test_rules_of_a_project(project: Path) -> None:
    rule = (
        "from tidy import Pattern\n\n\nclass AnySelect(Pattern):\n"
        '    """Something is selected."""\n\n    code = "OWN001"\n'
        '    triggers = frozenset({"aten::select"})\n    fix = "select nothing"\n\n'
        "    def match(self, event):\n        return True\n"
    )
    _say(project, rule, "rules/mine.py")
    _say(project, 'patterns = ["rules/mine.py"]\nselect = ["OWN"]')
    (project / "below").mkdir()
    result = tidy("report", f"../{_TRACE}", "--format", "json", cwd=project / "below").json()
    assert [each["code"] for each in result["traces"][0]["findings"]] == ["OWN001"]


def test_the_command_line_comes_first(project: Path) -> None:
    _say(project, 'ignore = ["TDY4"]\nselect = ["TDY6", "TDY4"]')
    assert _codes(project) == []
    assert _codes(project, "--select", "TDY404") == ["TDY404"], "what is selected is not ignored"
    assert _codes(project, "--ignore", "TDY6") == ["TDY404"]


def test_the_nearest_file_is_found_upwards(project: Path) -> None:
    below = project / "a" / "b"
    below.mkdir(parents=True)
    trace = str(project / _TRACE)
    _say(project, '[tool.tidy]\nignore = ["TDY404"]', "pyproject.toml")
    _say(project, '[project]\nname = "a"', "a/pyproject.toml")  # nothing of ours in it
    assert tidy("report", trace, cwd=below).code == 0
    _say(project, "", "a/tidy.toml")
    assert tidy("report", trace, cwd=below).code == 1, "a nearer one holds alone"
    (project / "a" / "tidy.toml").unlink()
    (project / "a" / ".git").mkdir()
    assert tidy("report", trace, cwd=below).code == 1, "nothing is taken from around a repository"


def test_a_file_that_is_named(project: Path, tmp_path: Path) -> None:
    _say(tmp_path, 'ignore = ["TDY404"]', "other.toml")
    _say(project, 'select = ["TDY404"]')
    assert _codes(project, "--config", tmp_path / "other.toml") == []
    for name, said in (("none.toml", "cannot be read: no such file"), ("runs", "cannot be read")):
        result = tidy("report", _TRACE, "--config", name, cwd=project)
        assert (result.code, result.out) == (2, "")
        assert f"tidy: {name}: {said}" in result.err
    result = tidy("report", _TRACE, "--config", "tidy.toml", "--no-config", cwd=project)
    assert (result.code, len(result.err.splitlines())) == (2, 1)


def test_extend(project: Path) -> None:
    _say(
        project,
        'select = ["TDY6"]\nfail-on = "never"\n[rules.TDY404]\nfewest-rounds = 99',
        "b.toml",
    )
    _say(project, 'extend = "b.toml"\nselect = ["TDY404"]')
    assert _codes(project) == []
    _say(project, 'extend = "b.toml"\nselect = ["TDY404"]\n[rules.TDY404]\nfewest-rounds = 3')
    assert _codes(project) == ["TDY404"]
    assert tidy("report", _TRACE, cwd=project).code == 0, "fail-on is that of the other file"
    _say(project, 'extend = "tidy.toml"', "b.toml")
    result = tidy("report", _TRACE, cwd=project)
    assert (result.code, result.err) == (2, "tidy: b.toml: extend: tidy.toml extends itself\n")


_ERRORS = [
    ('selct = ["TDY404"]', "selct: no such key: did you mean select?"),
    ("fail_on = 'error'", "fail_on: no such key: did you mean fail-on?"),
    ("zzz = 1", "zzz: no such key: `tidy config` lists all"),
    ('select = "TDY404"', "select: 'TDY404' is no list of texts"),
    ('select = ["TDY404", 3]', "select: ['TDY404', 3] is no list of texts"),
    ('select = ["TDY4044"]', "select: 'TDY4044': no such rule: did you mean TDY404?"),
    ('fail-on = "warn"', "fail-on: 'warn' is no word of error, warning, info, never"),
    ("warn-from = 101", "warn-from: 101 is no number from 0 to 100"),
    ("warn-from = true", "warn-from: True is no number from 0 to 100"),
    ("warn-from = nan", "warn-from: nan is no number from 0 to 100"),
    ("top = 2.5", "top: 2.5 is no whole number from 0"),
    ("rules = 3", "rules: this has to be a table"),
    ("[rules]\nTDY404 = 3", "rules.TDY404: this has to be a table of options"),
    ("[rules.TDY40]\nfewest-rounds = 3", "rules.TDY40.fewest-rounds: no such rule: did you mean"),
    (
        "[rules.TDY404]\nfewest-round = 3",
        "rules.TDY404.fewest-round: no such option: did you mean fewest-rounds?",
    ),
    (
        "[rules.TDY404]\nfewest-rounds = 1",
        "rules.TDY404.fewest-rounds: 1 is no whole number from 2",
    ),
    ('[per-path-ignores]\n"a.py" = "TDY4"', "per-path-ignores.'a.py': 'TDY4' is no list of texts"),
    ('[per-path-ignores]\n"a.py" = ["X"]', "per-path-ignores.'a.py': 'X': no such rule"),
    ('[per-path-ignores]\n"a\\n::b" = 3', "per-path-ignores.'a\\n::b': 3 is no list of texts"),
    ("extend = 3", "extend: 3 is no file name"),
    ("a = = 3", "this is no TOML: "),
    ("a = [" * 5000, "this is no TOML: "),
]


@pytest.mark.parametrize(("text", "said"), _ERRORS)
def test_mistakes_are_one_line_with_file_and_key(project: Path, text: str, said: str) -> None:
    for name, before, key in (
        ("tidy.toml", "", ""),
        ("pyproject.toml", "[tool.tidy]\n", "tool.tidy."),
    ):
        _say(
            project,
            before + text.replace("[rules", f"[{key}rules").replace("[per", f"[{key}per"),
            name,
        )
        result = tidy("report", _TRACE, cwd=project)
        assert (result.code, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert result.err.startswith(
            f"tidy: {name}: {said if said.startswith('this is') else key + said}"
        )
        (project / name).unlink()


def test_bytes_that_are_no_text(project: Path) -> None:
    (project / "tidy.toml").write_bytes(b'select = ["\xff"]')
    result = tidy("report", _TRACE, cwd=project)
    assert result.code == 2
    assert (
        result.err
        == "tidy: tidy.toml: this is no UTF-8, which TOML is; --no-config goes without it\n"
    )
    assert tidy("report", _TRACE, "--no-config", cwd=project).code == 1


def test_the_configuration_of_a_script(project: Path, tmp_path: Path) -> None:
    """That of the script's project, from wherever it is called."""
    script = (
        "import tidy.runtime as torch\n"
        "model = torch.nn.Linear(4, 4)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(14):\n"
        "    loss = model(torch.ones(2, 4)).sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )
    _say(project, script, "train.py")
    _say(project, 'format = "json"\nselect = ["TDY404"]')
    result = tidy("run", "project/train.py", cwd=tmp_path)
    assert result.json()["traces"][0]["checked"] == ["TDY404"]


def test_config_prints_what_holds_and_from_where(project: Path) -> None:
    _say(project, "top = 3\n[rules.TDY404]\nfewest-rounds = 5", "base.toml")
    _say(
        project,
        '[tool.tidy]\nextend = "base.toml"\nignore = ["TDY6"]\n'
        '[tool.tidy.per-path-ignores]\n"a \\" # b/**" = ["TDY4"]\n',
        "pyproject.toml",
    )
    text = tidy("config", cwd=project)
    assert (text.code, text.err) == (0, "")
    printed = tomllib.loads(text.out)
    assert printed["ignore"] == ["TDY6"]
    assert printed["top"] == 3
    assert printed["per-path-ignores"] == {'a " # b/**': ["TDY4"]}
    assert printed["rules"]["TDY404"]["fewest-rounds"] == 5
    assert 'ignore = ["TDY6"]  # pyproject.toml' in text.lines
    assert "top = 3  # base.toml" in text.lines
    assert "fewest-rounds = 5  # base.toml" in text.lines
    assert 'fail-on = "warning"  # default' in text.lines
    as_json = tidy("config", "--format", "json", cwd=project).json()
    assert as_json["keys"]["top"] == {"value": 3, "source": "base.toml"}
    # What it prints is a configuration that means the same.
    _say(project, text.out, "again.toml")
    again = tidy("config", "--config", "again.toml", "--format", "json", cwd=project).json()
    for kind in ("keys", "rules"):
        assert {k: _values(v) for k, v in again[kind].items()} == {
            k: _values(v) for k, v in as_json[kind].items()
        }


def _values(of: dict) -> object:  # type: ignore[type-arg]
    return of["value"] if "value" in of else {name: each["value"] for name, each in of.items()}


def test_the_schema_agrees_with_the_reader(project: Path) -> None:
    schema = tidy("config", "--schema", cwd=project).json()
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    printed = tidy("config", cwd=project).out
    assert validator.is_valid(tomllib.loads(printed))
    for text, said in _ERRORS:
        if "TOML" not in said and "no such rule" not in said and "nan" not in said:
            assert not validator.is_valid(tomllib.loads(text)), text
    for option in (
        "[rules.TDY404]\nfewest-rounds = 3",
        "[rules.for-loop-indexing]\nviews-from = 1",
    ):
        assert validator.is_valid(tomllib.loads(option))


def test_what_the_command_line_has_by_default_is_what_the_table_says() -> None:
    """`tidy config` says which values hold where no file says another."""
    from tidy.check.keys import KEYS
    from tidy.commands.report_options import ReportOptions

    defaults = ReportOptions()
    for key in KEYS.values():
        default = getattr(defaults, key.option)
        expected = 1.0 if key.name == "warn-from" and default is None else default
        assert key.default == (list(expected) if isinstance(expected, tuple) else expected), key


def test_from_python_a_file_holds_where_it_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _say(project, 'ignore = ["TDY404"]\nwarn-from = 50')
    monkeypatch.chdir(project)
    trace = package.load(_TRACE)
    assert [each.code for each in package.check(trace).findings] == ["TDY404"]
    assert package.check(trace, config="tidy.toml").findings == ()
    (finding,) = package.check(trace, config="tidy.toml", ignore=[]).findings
    assert finding.code == "TDY404"


def test_a_trace_of_another_machine(project: Path) -> None:
    """Paths of Windows, and of folders that are not here, are matched as they are written."""
    for path in ("C:\\work\\tests\\train.py", "/elsewhere/tests/train.py"):
        write(project / _TRACE, loop(f"{path}(3): fill"))
        _say(project, '[per-path-ignores]\n"**/tests/*.py" = ["TDY4"]')
        assert _codes(project) == []
        _say(project, '[per-path-ignores]\n"tests/**" = ["TDY4"]')
        assert _codes(project) == ["TDY404"]


def test_this_repository_has_no_configuration() -> None:
    """Its examples say what they say without one."""
    assert tidy("config").lines[0] == "# no configuration was found"


def test_a_place_that_is_not_there(project: Path) -> None:
    result = tidy("config", "missing.py", cwd=project)
    assert (result.code, result.out) == (2, "")
    assert result.err == "tidy: config: missing.py: no such file or folder\n"
    result = tidy("report", _TRACE, "--config", "missing.toml", cwd=project)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: missing.toml: cannot be read: no such file or directory")


def test_a_folder_is_a_place(project: Path) -> None:
    _say(project, "top = 3", "sub/tidy.toml")
    assert "top = 3  # sub/tidy.toml" in tidy("config", "sub", cwd=project).lines


def test_the_address_of_the_page_of_rules(project: Path) -> None:
    """A rule of the user's own is not on that page."""
    _say(project, 'rules-url = "https://example.org/rules"')
    (project / "own.py").write_text(
        "from tidy.patterns.base import Pattern\n"
        "class Own(Pattern):\n"
        '    """Mine."""\n'
        '    code, fix, needs = "OWN001", "nothing", frozenset()\n'
        "    def find(self, trace):\n"
        "        return []\n",
        "utf-8",
    )
    result = tidy("report", _TRACE, "--format", "sarif", "--patterns", "own.py", cwd=project)
    rules = {each["id"]: each for each in result.json()["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["TDY404"]["helpUri"] == "https://example.org/rules#tdy404"
    assert "helpUri" not in rules["OWN001"]
    for wrong in ("docs/rules.md", "https://example.org/a b", "https://example.org/#rules"):
        _say(project, f'rules-url = "{wrong}"')
        result = tidy("report", _TRACE, cwd=project)
        assert (result.code, result.out) == (2, "")
        assert "rules-url: " in result.err
        assert "is no address such as https://example.org/rules" in result.err
