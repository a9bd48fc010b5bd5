"""Every test ends without devices."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from tidy.runtime import cuda


@pytest.fixture(autouse=True)
def _no_devices_are_left() -> Iterator[None]:
    yield
    if cuda.is_available():
        cuda.configure(None)


@pytest.fixture
def a100() -> None:
    cuda.configure("a100")


@pytest.fixture
def two_devices() -> None:
    cuda.configure("a100", 2)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """The traceback of a test that fails would keep its tensors on their devices."""
    yield
    if call.excinfo is not None:
        error = call.excinfo.value
        while error is not None:
            traceback.clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__
        sys.last_value = sys.last_traceback = sys.last_exc = None  # type: ignore[attr-defined]
