"""pytest's hooks: the fixture `tidy`, the marker of the same name, and `--tidy-report`.

    def test_step(tidy):
        with tidy.profile(steps=5):
            train()
        tidy.assert_clean(ignore=["TDY101"], max_syncs=0)

    @pytest.mark.tidy(steps=5, max_step_ms=20)
    def test_training():
        train()

pytest loads this module in every run where tidy is installed, so it imports nothing else of tidy
before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING
from unittest import TestCase

import pytest

if TYPE_CHECKING:
    from .session import TidyFixture

_MARKER = (
    "tidy(steps, ..., ignore, select, fail_on, max_step_ms, max_syncs): record the test and fail"
    " where tidy finds what slows training down; arguments of tidy.profile and tidy.assert_clean"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say where the reports of recorded tests are kept."""
    parser.getgroup("tidy").addoption(
        "--tidy-report",
        metavar="DIR",
        help="keep tidy's report on each recorded test in DIR, as text, JSON and a page",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def tidy(request: pytest.FixtureRequest) -> Generator[TidyFixture, None, None]:
    """Records what a test trains, and asserts that nothing slows it down.

    `with tidy.profile(steps=5): ...` records; `tidy.assert_clean()` checks what was recorded.
    """
    made = _fixture(request.node)
    yield made
    made.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Have a test that is marked recorded, and checked when it has passed."""
    marker = pyfuncitem.get_closest_marker("tidy")
    if marker is None:
        return
    from .session import recorded_test

    if marker.args:
        pytest.fail("@pytest.mark.tidy takes arguments by name alone", pytrace=False)
    test = pyfuncitem.obj
    if iscoroutinefunction(test):
        pytest.fail("@pytest.mark.tidy records no coroutine; use the fixture", pytrace=False)

    def put_back() -> None:
        pyfuncitem.obj = test  # it may be run again

    pyfuncitem.obj = recorded_test(test, marker.kwargs, _fixture(pyfuncitem), put_back)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say that a method of a `unittest.TestCase` is not recorded: pytest does not call it."""
    cls = getattr(item, "cls", None)
    if cls is not None and issubclass(cls, TestCase) and item.get_closest_marker("tidy"):
        pytest.fail("@pytest.mark.tidy records no unittest.TestCase", pytrace=False)


def _fixture(item: pytest.Item) -> TidyFixture:
    from .session import TidyFixture

    folder = item.config.getoption("--tidy-report")
    return TidyFixture(item.nodeid, item.config.rootpath, folder)
