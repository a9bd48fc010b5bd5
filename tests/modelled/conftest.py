"""Every test ends without devices."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from tidy.runtime import cuda
from tidy.runtime.modelled import clock

from .steady_time import SteadyTime


@pytest.fixture(autouse=True)
def _no_devices_are_left() -> Iterator[None]:
    yield
    if cuda.is_available():
        cuda.configure(None)


@pytest.fixture
def real_time() -> None:
    """For tests with a profiler: it looks at the real clock itself."""


@pytest.fixture(autouse=True)
def _steady_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast this machine is does not show in modelled times."""
    if "real_time" not in request.fixturenames:
        steady = SteadyTime()
        monkeypatch.setattr(clock, "perf_counter_ns", steady.perf_counter_ns)
        monkeypatch.setattr(clock, "time_ns", steady.time_ns)


@pytest.fixture
def a100() -> None:
    cuda.configure("a100")


@pytest.fixture
def t4() -> None:
    cuda.configure("t4")


@pytest.fixture
def two_t4() -> None:
    cuda.configure("t4", 2)


@pytest.fixture
def three_t4() -> None:
    cuda.configure("t4", 3)


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
