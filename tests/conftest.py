"""What all tests share: settings of hypothesis, and a way to write small traces and read them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tidy
from tidy.trace import Trace

settings.register_profile("tidy", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("tidy")

ReadEvents = Callable[..., Trace]


@pytest.fixture
def read_events(tmp_path: Path) -> ReadEvents:
    """Write `traceEvents` (and a header) as the profiler would, and read the file."""

    def read(events: Sequence[Mapping[str, Any]], **header: Any) -> Trace:
        path = tmp_path / "written.pt.trace.json"
        path.write_text(json.dumps({**header, "traceEvents": list(events)}), "utf-8")
        trace = tidy.load(path)
        trace.self_check()
        return trace

    return read
