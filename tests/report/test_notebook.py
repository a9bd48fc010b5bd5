"""What a cell of a notebook shows: the same figures as JSON, without scripts, and nothing but text
of what a trace holds.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import tidy
from tidy.trace import Location

from ..cli.command import EXAMPLES
from ..environment import ROOT
from .hostile import TEXTS, results
from .making import finding, report

_REAL = ROOT / "tests" / "data" / "packed" / "real"
_TRACES = [*EXAMPLES, *sorted(_REAL.glob("tracelens*.json*"))]


class _Read(HTMLParser):
    """The tags, their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = list[str](), ""
        self.attributes = set[str]()
        self.open = list[str]()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("path", _TRACES, ids=lambda path: path.name)
def test_a_report_is_a_cell(path: object) -> None:
    made = tidy.check(tidy.load(str(path)))
    read = _Read(made._repr_html_())
    assert set(read.tags) <= {"div", "span", "b", "br"}
    assert read.attributes <= {"style"}
    for each in made.findings[:3]:
        if each.saving and each.saving.why == "" and each.cost_share and each.cost_share > 0.02:
            assert each.code in read.text
    shares = [float(each) for each in re.findall(r"width:([\d.]+)%", made._repr_html_())]
    if made.accounts:
        said = [100 * part.share for part in made.accounts[0].parts[: len(shares)]]
        assert shares == pytest.approx(said, abs=1e-3)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_shown_as_they_are(text: str) -> None:
    plain = _Read(_cell("plain"))
    read = _Read(_cell(text))
    shown = "".join(char if char.isprintable() else "?" for char in text)
    assert read.tags == plain.tags
    assert shown in read.text


def _cell(text: str) -> str:
    made = results(text, Location(text, 3, text)).reports[0]
    assert isinstance(made, tidy.Report)
    return made._repr_html_()


def test_a_trace_is_a_cell() -> None:
    read = _Read(tidy.load(EXAMPLES[0])._repr_html_())
    assert "Where the time goes: 3 steps" in read.text
    assert set(read.tags) <= {"div", "span"}


def test_many_findings_are_not_all_shown() -> None:
    made = report(*(finding(f"XYZ{number:03}", at=f"a.py:{number + 1}") for number in range(20)))
    text = _Read(made._repr_html_()).text
    assert "and 12 more; print() shows all" in text
    assert len(set(re.findall(r"XYZ\d+", text))) == 8
