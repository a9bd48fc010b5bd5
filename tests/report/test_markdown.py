"""Markdown that shows what was found and nothing that a trace made up."""

from __future__ import annotations

import html
import re

import pytest

from tidy import Severity
from tidy.report.markdown import escaped, to_markdown
from tidy.trace import Location

from .hostile import TEXTS, results

_OURS = re.compile(r"</?(details|summary|br)>")


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_shown_as_they_are(text: str) -> None:
    made = escaped(text)
    assert html.unescape(made).replace("\u200b", "") == _shown(text)
    assert not re.search(r"[<>|`*_\[\]{}~$!\\]", made)
    assert not re.search(r"[@#]\w", re.sub(r"&#\d+;", "", made))
    assert "://" not in made
    assert not re.match(r"[-+=#]|\d+[.)]", made)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
def test_a_table_keeps_its_columns(text: str, severity: Severity) -> None:
    page = to_markdown(results(text, Location(text, 3, text), severity=severity))
    rows = [line for line in page.splitlines() if "XYZ001" in line]
    assert len(rows) == 1
    assert rows[0].count("|") == 7
    assert "<" not in _OURS.sub("", page)


def test_the_account_adds_up() -> None:
    page = to_markdown(results())
    (bar,) = re.findall(r"`([\u2588\u2591\u2592\u2593\u00b7]+)`", page)
    assert len(bar) == 40
    shares = [float(each) for each in re.findall(r"^\| (\d+\.\d)% \|", page, re.MULTILINE)]
    assert 99.5 < sum(shares) < 100.5


def test_infos_are_folded() -> None:
    page = to_markdown(results(severity=Severity.INFO))
    head, _, folded = page.partition("<details>")
    assert "XYZ001" not in head
    assert "XYZ001" in folded.partition("</details>")[0]
