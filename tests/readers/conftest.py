"""What the tests of readers share: reading bytes as a file, and how a refusal reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tidy.errors import TraceFormatError
from tidy.readers import container, event_text, read_trace
from tidy.trace import Trace

Read = Callable[..., Trace]
Refuse = Callable[..., str]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read what is given as the content of a file; its name tells nothing."""

    def read_content(content: bytes | str, name: str = "file") -> Trace:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        trace = read_trace(path)
        trace.self_check()
        return trace

    return read_content


@pytest.fixture
def refuse(read: Read) -> Refuse:
    """The problem that a file with this content is refused with; one line."""

    def refused_content(content: bytes | str) -> str:
        with pytest.raises(TraceFormatError) as caught:
            read(content)
        assert str(caught.value).count("\n") == 0
        assert str(caught.value).startswith(caught.value.path)
        return caught.value.problem

    return refused_content


@pytest.fixture(params=(1, 37, 1000))
def tiny_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be read a few bytes at a time, so that every border is cut at once."""
    monkeypatch.setattr(container, "BLOCK_NBYTES", request.param)
    monkeypatch.setattr(event_text, "PIECE_NBYTES", 2 * request.param)
