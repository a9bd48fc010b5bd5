"""The JSON report is what docs/report.schema.json and the Python API say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tidy as library

from ..environment import ROOT
from .command import EXAMPLES, tidy
from .traces import loop, write

_SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object inside a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from _objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _objects(inner)


def _validate(report: Any) -> None:
    jsonschema.Draft202012Validator(_SCHEMA).validate(report)


def test_the_schema_is_complete() -> None:
    jsonschema.Draft202012Validator.check_schema(_SCHEMA)
    assert len(list(_objects(_SCHEMA))) == 37
    for found in _objects(_SCHEMA):
        assert found["additionalProperties"] is False
        assert sorted(found["required"]) == sorted(found["properties"])
        for name, each in found["properties"].items():
            assert each.get("description", "").endswith((".", ".)")), name


def test_examples_are_valid_and_as_from_python() -> None:
    assert EXAMPLES
    report = tidy("report", *EXAMPLES, "--format", "json").json()
    _validate(report)
    own = [library.check(library.load(path)) for path in EXAMPLES]
    assert report["traces"] == [json.loads(json.dumps(each.to_json())) for each in own]
    for severity in library.Severity:
        total = sum(each.counts[severity] for each in own)
        assert report["summary"][severity.label] == total
    assert report["tool"] == {"name": "tidy", "version": library.__version__}


def test_one_finding_worked_out_by_hand(tmp_path: Path) -> None:
    """12 rounds of two ops of 1 us each, 1 us apart, from 1 us after the start of a frame of 100.

    Without steps or devices the run is all the time recorded.
    """
    trace = write(tmp_path / "loop.json", loop(), baseTimeNanoseconds=10**18)
    report = tidy("report", trace, "--select", "TDY404,TDY503", "--format", "json").json()
    _validate(report)
    (found,) = report["traces"]
    (finding,) = found["findings"]
    assert finding["message"].startswith("12 iterations")
    assert finding["fix"]
    del finding["message"], finding["fix"]
    assert finding == {
        "code": "TDY404",
        "name": "for-loop-indexing",
        "severity": "warning",
        "location": {"file": "train.py", "line": 3, "function": "fill", "is_call_line": False},
        "fix_place": None,
        "count": 1,
        # The loop's own time: from its first op to the end of its last, 1 + 2 * 23 us after.
        "cost_ns": 47_000,
        "cost_share": 0.47,
        "on_device": False,
        "in_window": True,
        # One of 12 rounds stays, at worst four; 8 % of what is saved then is not relied upon.
        "saving": {
            "low_ns": pytest.approx(0.92 * 47_000 * 8 / 12, abs=2),
            "high_ns": pytest.approx(47_000 * 11 / 12, abs=2),
            "step_ns": 100_000,
            "step_ns_after": [
                pytest.approx(100_000 - 47_000 * 11 / 12, abs=2),
                pytest.approx(100_000 - 0.92 * 47_000 * 8 / 12, abs=2),
            ],
            "model": "one op for all rounds",
            "why": "",
            "hidden": False,
        },
        "why_no_saving": None,
        "suppressed": None,
        "baseline": None,
        "events": [{"name": "aten::select", "start_ns": 10**18 + 1000, "duration_ns": 1000}],
    }
    assert report["summary"] == {
        "error": 0, "warning": 1, "info": 0, "suppressed": 0, "in_baseline": 0,
        "traces": 1, "exit_code": 1, "script_status": 0,
    }  # fmt: skip
    assert (found["span_ns"], found["event_count"]) == (100_000, 25)
    assert found["steps"] == {
        "count": 0, "mean_ns": None, "median_ns": None, "durations_ns": [], "timed": None,
        "times": "recorded", "light_slowdown": None, "quickest": False,
    }  # fmt: skip
    assert found["recorded"] == ["stacks"]
    assert found["checked"] == ["TDY404"]
    assert [gap["code"] for gap in found["not_checked"]] == ["TDY503"]


def test_what_cannot_be_read_is_in_the_report(tmp_path: Path) -> None:
    absent = tmp_path / "absent.json"
    result = tidy("report", absent, "--format", "json")
    report = result.json()
    _validate(report)
    assert (result.code, report["summary"]["exit_code"], report["traces"]) == (2, 2, [])
    assert [each["path"] for each in report["unreadable"]] == [str(absent)]
    assert f"tidy: {absent}: {report['unreadable'][0]['problem']}\n" == result.err


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("schema_version", 3),
        ("summary", {}),
        ("traces", [{}]),
        ("unreadable", [{"path": "a"}]),
        ("jobs", [{}]),
        ("recordings", [{}]),
        ("more", 1),
    ],
)
def test_the_schema_refuses_what_is_none(change: str, to: object) -> None:
    report = {
        "schema_version": 2,
        "tool": {"name": "tidy", "version": "1"},
        "summary": {
            "error": 0,
            "warning": 0,
            "info": 0,
            "suppressed": 0,
            "in_baseline": 0,
            "traces": 0,
            "exit_code": 0,
            "script_status": 0,
        },
        "unreadable": [],
        "traces": [],
        "gone": [],
        "jobs": [],
        "recordings": [],
    }
    _validate(report)
    with pytest.raises(jsonschema.ValidationError):
        _validate({**report, change: to})
