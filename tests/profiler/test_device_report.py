"""A report says plainly that the times of a modelled device were not measured."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import tidy
from tidy.profiler import profile
from tidy.report.text import render
from tidy.trace import Trace
from tidy.trace.outline import parse_outline

from .modelled import configure, step

_SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
_NOTE = "device times are modelled, not measured"
_LAUNCH = """
aten::add
  cudaLaunchKernel
    => kernel 3us
"""


def reported(trace: Trace) -> tuple[str, bool, list[str]]:
    """The text, and of the JSON: whether the device is modelled, the names of devices."""
    report = tidy.check(trace)
    text, found = render([report]), report.to_json()
    assert (f"note: {_NOTE}" in text) == found["device_is_modelled"] == (_NOTE in found["warnings"])
    return text, found["device_is_modelled"], [each["name"] for each in found["devices"]]


def test_what_the_profiler_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = configure(monkeypatch)
    with profile() as prof:
        step(device)
    prof.export_chrome_trace(tmp_path / "t.json")
    for trace in (prof.trace, tidy.load(tmp_path / "t.json")):
        text, modelled, names = reported(trace)
        assert modelled
        assert names == ["NVIDIA A100-SXM4-40GB (modelled)"]
        assert "NVIDIA A100-SXM4-40GB (modelled), no steps marked" in text
        schema = json.loads(_SCHEMA.read_text("utf-8"))
        schema = {"$ref": "#/$defs/trace", "$defs": schema["$defs"]}
        jsonschema.Draft202012Validator(schema).validate(tidy.check(trace).to_json())


def test_the_name_alone_tells() -> None:
    _, modelled, names = reported(parse_outline("# device 0 GTX (modelled) 8.0" + _LAUNCH))
    assert modelled
    assert names == ["GTX (modelled)"]


def test_others_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, modelled, names = reported(parse_outline("# device 0 NVIDIA A100 8.0" + _LAUNCH))
    assert not modelled
    assert names == ["NVIDIA A100"]
    configure(monkeypatch)
    with profile() as prof:
        pass
    assert reported(prof.trace)[1:] == (False, [])
