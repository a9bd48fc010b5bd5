"""The environment while a profiler may let go of CUPTI; C reads it, not Python."""

from __future__ import annotations

import ctypes
import os
import sys
from types import SimpleNamespace

import pytest

from tidy.run.child.torch_backend import cupti_may_be_let_go

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="getenv of the C library")


def _seen_by_c() -> str | None:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    found: bytes | None = getenv(b"TEARDOWN_CUPTI")
    return None if found is None else found.decode()


def _torch(cuda: str | None) -> SimpleNamespace:
    return SimpleNamespace(version=SimpleNamespace(cuda=cuda))


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [("13.0", "1"), ("12.6", "1"), ("12.4", None), ("11.8", None), (None, None)],
)
def test_it_is_set_meanwhile_where_cuda_can(
    cuda: str | None, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEARDOWN_CUPTI", raising=False)
    with cupti_may_be_let_go(_torch(cuda)):
        assert _seen_by_c() == expected
        assert "TEARDOWN_CUPTI" not in os.environ
    assert _seen_by_c() is None


@pytest.mark.parametrize("value", ["0", "1"])
def test_what_the_script_has_set_stays(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEARDOWN_CUPTI", value)
    with cupti_may_be_let_go(_torch("13.0")):
        assert _seen_by_c() == value
    assert _seen_by_c() == value


def test_what_is_set_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyTorch does when a profiler starts beside CUDA graphs."""
    monkeypatch.delenv("TEARDOWN_CUPTI", raising=False)
    with cupti_may_be_let_go(_torch("13.0")):
        monkeypatch.setenv("TEARDOWN_CUPTI", "0")
    assert _seen_by_c() == "0"
