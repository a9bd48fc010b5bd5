"""Every test ends without devices."""

from __future__ import annotations

from collections.abc import Iterator

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
