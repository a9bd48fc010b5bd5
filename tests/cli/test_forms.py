"""`--format` and `--output`: which form goes where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import EXAMPLES, tidy

TRACE = next(path for path in EXAMPLES if path.name.startswith("train_cnn."))


def _form(text: str) -> str:
    if text.startswith("{"):
        return "sarif" if "runs" in json.loads(text) else "json"
    if text.startswith("## tidy"):
        return "markdown"
    return "github" if text.startswith("::") else "text"


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "markdown"])
def test_each_form_is_the_same_each_time(form: str) -> None:
    once, again = (tidy("report", TRACE, "--format", form) for _ in range(2))
    assert (once.code, once.err, _form(once.out)) == (1, "", form)
    assert once.out == again.out


def test_several_files_at_once(tmp_path: Path) -> None:
    """The ending says the form, a name before the file says it louder, else it is --format's."""
    names = {"a.json": "json", "b.sarif": "sarif", "c.MD": "markdown", "d.txt": "text"}
    given = [part for name in names for part in ("--output", tmp_path / name)]
    given += ["-o", f"sarif={tmp_path / 'e.json'}", "-o", f"github={tmp_path / 'f'}"]
    names |= {"e.json": "sarif", "f": "github"}
    result = tidy("report", TRACE, *given)
    assert (result.code, result.out, result.err) == (1, "", "")
    for name, form in names.items():
        assert _form((tmp_path / name).read_text("utf-8")) == form, name


def test_one_of_several_may_be_standard_output(tmp_path: Path) -> None:
    result = tidy("report", TRACE, "-o", "markdown=-", "-o", tmp_path / "a.json")
    assert _form(result.out) == "markdown"
    assert _form((tmp_path / "a.json").read_text("utf-8")) == "json"


def test_annotations_are_printed_beside_files(tmp_path: Path) -> None:
    result = tidy("report", TRACE, "--format", "github", "--output", tmp_path / "a.sarif")
    assert _form(result.out) == "github"
    assert _form((tmp_path / "a.sarif").read_text("utf-8")) == "sarif"


def test_a_file_that_is_named_twice(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    result = tidy("report", TRACE, "-o", file, "-o", f"sarif={file}")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"tidy: --output {file}: named twice; each form needs a file of its own\n"
    assert not file.exists()


@pytest.mark.parametrize("form", ["sarif", "github", "markdown"])
def test_what_cannot_be_read_is_in_each_form(form: str, tmp_path: Path) -> None:
    absent = tmp_path / "absent.json"
    result = tidy("report", TRACE, absent, "--format", form)
    assert result.code == 2
    assert "absent.json" in result.out


def test_a_script_writes_to_stderr_where_a_document_is_printed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import tidy.runtime as torch\n"
        "net = torch.nn.Linear(4, 4)\n"
        "optimizer = torch.optim.SGD(net.parameters())\n"
        "for _ in range(5):\n"
        "    net(torch.ones(2, 4)).sum().backward()\n"
        "    optimizer.step()\n"
        "print('trained')\n",
        "utf-8",
    )
    result = tidy("run", "--format", "sarif", "--fail-on", "never", script)
    assert (result.code, _form(result.out)) == (0, "sarif")
    assert "trained" in result.err
    run = json.loads(result.out)["runs"][0]
    assert run["automationDetails"]["id"] == "tidy/train.py/"
