"""Annotations, parsed as a GitHub runner parses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidy import Severity
from tidy.report.github import to_annotations
from tidy.trace import Location

from .hostile import TEXTS, results

_COMMAND = re.compile(r"::(?P<kind>\w+) (?P<properties>.*?)::(?P<data>.*)")


def _parsed(line: str) -> tuple[str, dict[str, str], str]:
    """As actions/runner reads a workflow command."""
    match = _COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = (each.split("=", 1) for each in match["properties"].split(","))
    properties = {key: _unescaped(value, ":,") for key, value in pairs}
    return match["kind"], properties, _unescaped(match["data"], "")


def _unescaped(text: str, more: str) -> str:
    for char in ["\r", "\n", *more, "%"]:
        text = text.replace(f"%{ord(char):02X}", char)
    return text


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back_and_nothing_else_does(text: str, tmp_path: Path) -> None:
    lines = list(to_annotations(results(text, Location(text, 3, text), root=tmp_path)))
    assert all(line.isprintable() for line in lines)
    (kind, properties, data), *rest = map(_parsed, lines[:-1])
    assert (kind, rest) == ("warning", [])
    shown = "".join(char if char.isprintable() else "?" for char in text)
    assert data.startswith(f"{shown} (x1")
    assert properties["title"] == "XYZ001 says"
    assert lines[-1].startswith("tidy: 1 warning")


def test_a_place_of_the_project(tmp_path: Path) -> None:
    source = tmp_path / "pack age" / "train,1.py"
    source.parent.mkdir()
    source.write_text("import this\n\n\nfor i in range(3):\n    f(i,\n      2)\n", "utf-8")
    found = results("slow", Location(str(source), 5, "f", is_call_line=True), root=tmp_path)
    _, properties, _ = _parsed(next(to_annotations(found)))
    assert properties == {
        "file": "pack age/train,1.py",
        "line": "5",
        "endLine": "6",
        "title": "XYZ001 says",
    }


def test_a_place_elsewhere_is_no_file_of_github(tmp_path: Path) -> None:
    for file in ("/etc/passwd", "../train.py", "C:\\code\\train.py"):
        found = results("slow", Location(file, 5, "f"), root=tmp_path)
        _, properties, _ = _parsed(next(to_annotations(found)))
        assert properties == {"title": "XYZ001 says"}


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO, Severity.ERROR])
def test_ten_of_a_kind_are_shown(severity: Severity) -> None:
    """The costliest nine, and how many more; as many as ten are all shown."""
    for count in (10, 23):
        *lines, _ = to_annotations(results(count=count, severity=severity))
        parsed = [_parsed(line) for line in lines]
        assert len({kind for kind, _, _ in parsed}) == 1
        assert len(parsed) == 10
        last = parsed[-1][2]
        assert (f"14 more {severity.label}" in last) is (count == 23)
