"""The page as a file: whole, small, shut against what a trace may hold, and the same each time."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from tidy.page.document import document, script_text, style_text, to_html
from tidy.trace import Location

from ..environment import ROOT
from ..report.hostile import TEXTS, results
from .making import TRACES, content_of, page_of

_LARGEST_NBYTES = 150_000
_LARGEST_CODE_NBYTES = 120_000


@pytest.mark.parametrize("name", TRACES)
def test_a_page_is_whole(name: str) -> None:
    page = page_of(name)
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert content_of(page)["jobs"]


def test_the_policy_allows_its_own_style_and_script_alone() -> None:
    page = page_of("cpu")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    said = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert said["default-src"] == "'none'"
    for name, tag in (("script-src", '<script type="module">'), ("style-src", "<style>")):
        text = page.partition(tag)[2].partition("</")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert said[name] == f"'sha256-{digest}'"


def test_nothing_is_asked_for_from_anywhere() -> None:
    code = (script_text() + style_text()).replace("http://www.w3.org/2000/svg", "")  # a name
    assert not re.search(
        r"https?:|//[a-z]+\.|\bfetch\(|XMLHttpRequest|WebSocket|import\(|url\(", code
    )


def test_nothing_is_parsed_as_html() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script_text()
    )


def test_the_modules_are_one() -> None:
    assert not re.search(r"^(import|export)\b", script_text(), re.MULTILINE)


def test_no_two_modules_have_one_name() -> None:
    names = re.findall(
        r"^(?:async )?(?:function|class|const|let) (\w+)", script_text(), re.MULTILINE
    )
    names += [
        name
        for several in re.findall(
            r"^const (\w+ = [^;\n]*, \w+ = .*);$", script_text(), re.MULTILINE
        )
        for name in re.findall(r", (\w+) =", several)
    ]
    assert len(set(names)) == len(names)


def test_each_file_of_the_page_is_used() -> None:
    from tidy.page.document import MODULES

    files = {path.name for path in (ROOT / "tidy" / "page" / "web").iterdir()}
    assert files == {f"{each}.js" for each in MODULES} | {"page.css"}


def test_the_page_without_data_is_small() -> None:
    assert len(document({}).encode()) <= _LARGEST_NBYTES
    assert len((script_text() + style_text()).encode()) <= _LARGEST_CODE_NBYTES


def test_a_page_is_the_same_each_time() -> None:
    first, second = (to_html(results()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("text", [*TEXTS, "</script>", "<!--", "a" * 10_000])
def test_texts_stay_data(text: str) -> None:
    page = to_html(results(text, Location(text, 3, text)))
    before, _, rest = page.partition('<script type="application/json" id="data">')
    data, _, after = rest.partition("</script>")
    assert "<" not in data
    plain = to_html(results())
    assert before == plain.partition('<script type="application/json" id="data">')[0]
    assert after == plain.partition('id="data">')[2].partition("</script>")[2]
    (job,) = content_of(page)["jobs"]
    shown = "".join(char if char.isprintable() else "?" for char in text)
    assert shown in job["findings"][0]["message"]


def test_a_page_is_ascii_but_for_nothing() -> None:
    """A terminal or pipe that is not UTF-8 would else change what the policy's hashes are of."""
    assert page_of("h100").isascii()
