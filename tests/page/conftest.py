"""A real browser: chromium, driven by Playwright. Without either these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ..environment import SOAK

# Nothing of the browser's own goes to the network, nor waits for it.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


def mouse_and_keyboard(first: str, *others: str) -> list[tuple[str, str]]:
    """Pages by mouse, and the first by keyboard, which presses the same buttons.

    For `make soak` each by both.
    """
    by_keyboard = (first, *others) if SOAK else (first,)
    return [(name, "mouse") for name in (first, *others)] + [
        (name, "keyboard") for name in by_keyboard
    ]


@dataclass
class Shown:
    """A page in the browser, with what went wrong in it and what it asked for.

    Attributes:
        tab: Playwright's page.
        problems: errors, and what the console says.
        requests: the addresses of all that was asked for, the page itself among them.
    """

    tab: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {
            "console": lambda said: self.problems.append(said.text),
            "pageerror": lambda error: self.problems.append(str(error)),
            "dialog": lambda dialog: self.problems.append(dialog.message),
            "request": lambda request: self.requests.append(request.url),
        }

    def open(self, file: Path, until: str = "canvas.slices") -> None:
        """Open a file in the tab, and wait for what `until` selects."""
        self.tab.goto(file.as_uri())
        self.tab.wait_for_selector(until)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once for each worker."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("without a browser (chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=_QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tabs(chromium: Any) -> list[Any]:
    """Those that no test uses right now: the process of a new one takes a second to start."""
    return []


Show = Callable[..., Shown]


@pytest.fixture
def show(chromium: Any, tabs: list[Any]) -> Iterator[Show]:
    """Open a file in a tab of its own, `width` pixels wide, and wait for its timeline.

    What `until` selects is waited for in its place.
    """
    used = []

    def opened(
        file: Path, width: int = 1440, scheme: str = "light", until: str = "canvas.slices"
    ) -> Shown:
        shown = Shown(tabs.pop() if tabs else chromium.new_context().new_page())
        used.append(shown)
        shown.tab.set_default_timeout(20_000)
        shown.tab.set_viewport_size({"width": width, "height": 900})
        shown.tab.emulate_media(media="screen", color_scheme=scheme)
        for event, listener in shown.listeners.items():
            shown.tab.on(event, listener)
        shown.open(file, until)
        return shown

    yield opened
    for shown in used:
        for event, listener in shown.listeners.items():
            shown.tab.remove_listener(event, listener)
        shown.tab.goto("about:blank")
        tabs.append(shown.tab)
