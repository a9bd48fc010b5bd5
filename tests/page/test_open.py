"""`tidy open` writes the page and hands it to the browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from ..cli.command import tidy_process
from ..environment import ROOT
from .making import TRACES, content_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a script as a browser")


def _browser(folder: Path) -> str:
    """A browser that notes what it is given."""
    program = folder / "browser"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(folder / 'seen')!r}, 'w').write(sys.argv[1])\n"
    )
    program.chmod(0o755)
    return str(program)


def test_a_page_is_opened(tmp_path: Path) -> None:
    done = tidy_process(
        "open", ROOT / TRACES["cpu"][0], BROWSER=_browser(tmp_path), TMPDIR=str(tmp_path)
    )
    assert (done.code, done.err) == (0, "")
    (address,) = done.lines
    assert (tmp_path / "seen").read_text() == address
    page = Path(url2pathname(urlparse(address).path))
    assert page.is_relative_to(tmp_path)
    assert content_of(page.read_text("utf-8"))["jobs"]


def test_nothing_is_opened_where_nothing_can_be_read(tmp_path: Path) -> None:
    done = tidy_process(
        "open", tmp_path / "none.json", BROWSER=_browser(tmp_path), TMPDIR=str(tmp_path)
    )
    assert (done.code, done.out) == (2, "")
    assert not (tmp_path / "seen").exists()
    assert {each.name for each in tmp_path.iterdir()} == {"browser"}


def test_without_a_browser_the_file_is_named(tmp_path: Path) -> None:
    done = tidy_process(
        "open",
        ROOT / TRACES["cpu"][0],
        BROWSER=str(tmp_path / "none"),
        PATH="",
        TMPDIR=str(tmp_path),
    )
    assert done.code == 0
    assert done.out.startswith("file://")
    assert done.err == "tidy: no browser could be started: open that file in one\n"
