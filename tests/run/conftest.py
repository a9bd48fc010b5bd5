"""No test leaves a process behind for the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .running import end_started


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    yield
    end_started()
