"""SARIF 2.1.0: as its specification and GitHub's rules have it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import tidy
from tidy import Severity
from tidy.report import sarif
from tidy.report.results import Results
from tidy.trace import Location

from .hostile import EXAMPLE, TEXTS, results


def _run(found: Results) -> Any:
    log = json.loads(json.dumps(sarif.to_sarif(found)))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    return log["runs"][0]


@pytest.fixture(scope="module")
def of_all_rules() -> Results:
    report = tidy.check(tidy.load(EXAMPLE))
    from tidy.api import prepare

    return Results([report], prepare(), EXAMPLE.parents[2], {"gone.json": "no such file"}, 1)


def test_what_github_asks_for(of_all_rules: Results) -> None:
    """Source: "SARIF support for code scanning", supported properties that it calls required."""
    run = _run(of_all_rules)
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) > 40
    for rule in rules:
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert "security-severity" not in rule["properties"]
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert 1 <= region["startLine"] <= region["endLine"]
        assert location["physicalLocation"]["artifactLocation"]["uri"]
        assert result["partialFingerprints"]["primaryLocationLineHash"]
    assert run["automationDetails"]["id"] == "tidy/train_cnn.json.gz/"
    assert run["invocations"][0]["executionSuccessful"] is False
    said = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["message"]["text"] for each in said] == ["gone.json: no such file"]


def test_rules_link_to_their_place_on_the_page(of_all_rules: Results) -> None:
    """Where its address is known: `helpUri` has to be an absolute URI."""
    assert all("helpUri" not in rule for rule in _run(of_all_rules)["tool"]["driver"]["rules"])
    base = "https://example.org/docs/rules.html"
    known = replace(of_all_rules, rules_url=base)
    page = (EXAMPLE.parents[2] / "docs" / "rules.md").read_text("utf-8")
    for rule in _run(known)["tool"]["driver"]["rules"]:
        assert rule["helpUri"] == f"{base}#{rule['id'].lower()}"
        assert f'<a id="{rule["id"].lower()}"></a>\n\n## {rule["id"]} ' in page


@pytest.mark.oracle
def test_names_are_those_of_the_schema(of_all_rules: Results) -> None:
    """Classes made from the official schema drop what it does not have."""
    pysarif = pytest.importorskip("pysarif")
    log = json.loads(json.dumps(sarif.to_sarif(of_all_rules)))
    known = pysarif.save_to_dict(pysarif.load_from_dict(log))
    del log["$schema"]  # a name that no class of Python can have
    assert _missing(log, known, "") == []


def _missing(ours: Any, known: Any, at: str) -> list[str]:
    if isinstance(ours, dict) and isinstance(known, dict):
        if at.endswith((".properties", ".partialFingerprints")):
            return []
        gone = [f"{at}.{key}" for key in ours if key not in known]
        same = [key for key in ours if key in known]
        return gone + [m for key in same for m in _missing(ours[key], known[key], f"{at}.{key}")]
    if isinstance(ours, list) and isinstance(known, list):
        return [m for a, b in zip(ours, known, strict=True) for m in _missing(a, b, f"{at}[]")]
    return [] if ours == known else [f"{at}: {ours!r} != {known!r}"]


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_becomes_a_link_or_a_placeholder(text: str, tmp_path: Path) -> None:
    (result,) = _run(results(text, Location(text, 3, text), root=tmp_path))["results"]
    said = result["message"]["text"]
    assert "](" not in said
    assert all(char.isprintable() or char == "\n" for char in said)
    plain = said.replace("{{", "").replace("}}", "")
    assert "{" not in plain
    assert "}" not in plain
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set(' <>"{}|\\^`\n')


def test_places_of_the_project_are_relative(tmp_path: Path) -> None:
    source = tmp_path / "a b" / "träin#1.py"
    source.parent.mkdir()
    source.write_text("x = 1\n\nif x:\n    y = [\n        x,\n    ]\n", "utf-8")
    for line, lines, columns in ((5, (4, 6), (5, 6)), (3, (3, 3), (1, 6)), (99, (99, 99), None)):
        found = results("slow", Location(str(source), line, "f"), root=tmp_path)
        (result,) = _run(found)["results"]
        place = result["locations"][0]["physicalLocation"]
        artifact, region = place["artifactLocation"], place["region"]
        assert unquote(artifact["uri"]) == "a b/träin#1.py"
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert (region["startLine"], region["endLine"]) == lines
        if columns:
            assert (region["startColumn"], region["endColumn"]) == columns


def test_nothing_outside_of_the_project_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.py"
    outside.write_text("password = 1\n" * 9, "utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "link.py").symlink_to(outside)
    for file in (str(outside), "../secret.py", "link.py", "C:/x/train.py", "https://a/b.py"):
        (result,) = _run(results("slow", Location(file, 5, "f"), root=project))["results"]
        place = result["locations"][0]["physicalLocation"]
        assert "startColumn" not in place["region"], file


def test_fingerprints_survive_moved_lines_and_other_times(tmp_path: Path) -> None:
    source = tmp_path / "train.py"

    def fingerprint(text: str, line: int, message: str = "3 loops") -> str:
        source.write_text(text, "utf-8")
        found = results(message, Location("train.py", line, "f"), root=tmp_path)
        (result,) = _run(found)["results"]
        return str(result["partialFingerprints"]["primaryLocationLineHash"])

    before = fingerprint("for i in x:\n    f(i)\n", 2)
    assert fingerprint("import os\n\nfor i in x:\n        f(i)\n", 4, "5 loops") == before
    assert fingerprint("for i in x:\n    g(i)\n", 2) != before


def test_fingerprints_survive_counts_and_times_of_any_size(tmp_path: Path) -> None:
    """Where no source tells findings apart, their messages do, but for numbers and units."""

    def fingerprint(message: str) -> str:
        (result,) = _run(results(message, root=tmp_path))["results"]
        return str(result["partialFingerprints"]["primaryLocationLineHash"])

    before = fingerprint("the GPU waits 900 us for each of 990 kernels, 512 KiB large")
    assert fingerprint("the GPU waits 1.20 ms for each of 1,012 kernels, 2.5 GiB large") == before
    assert fingerprint("the GPU waits 1.20 ms for each of 1,012 copies, 2.5 GiB large") != before


def test_fingerprints_survive_renamed_variables(tmp_path: Path) -> None:
    source = tmp_path / "train.py"

    def fingerprint(statement: str, line: int = 4) -> str:
        head = "from a import f, g\nimport torch as t\nfor i, j in f():\n"
        source.write_text(f"{head}    {statement}\n", "utf-8")
        found = results("3 loops", Location("train.py", line, "f"), root=tmp_path)
        (result,) = _run(found)["results"]
        return str(result["partialFingerprints"]["primaryLocationLineHash"])

    before = fingerprint("x = f(i) + y.item(key=j)")
    assert fingerprint("loss = f(j) + y.item(\n        key=i)  # a remark", 5) == before
    for other in (
        "x = g(i) + y.item(key=j)",  # another function,
        "x = f(i) + y.sum(key=j)",  # method,
        "x = f(i) + y.item(end=j)",  # argument,
        "x = f(i) + y.item(key=i)",  # or another variable than before
        "x = f(1) + y.item(key=j)",
        "return f(i) + y.item(key=j)",
    ):
        assert fingerprint(other) != before, other
    loop = "while f(i):\n        x = 1"
    assert fingerprint(loop) == fingerprint("while f(j):\n        y = 2")
    assert fingerprint(loop, 5) != fingerprint(loop)


def test_two_of_one_line_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    found = results("slow", Location("train.py", 3, "f"), root=tmp_path, count=3)
    keys = [r["partialFingerprints"]["primaryLocationLineHash"] for r in _run(found)["results"]]
    assert len(set(keys)) == 3


def test_as_much_as_github_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The costliest stay, and the loss is said."""
    found = results(count=60)
    packed = len(gzip.compress(json.dumps(sarif.to_sarif(found)).encode()))
    for limit, value in (("MOST_RESULTS", 25), ("MOST_NBYTES", packed - 100)):
        with monkeypatch.context() as patch:
            patch.setattr(sarif, limit, value)
            run = _run(found)
            kept = len(run["results"])
            (said,) = run["invocations"][0]["toolExecutionNotifications"]
            assert f"{60 - kept} results left out" in said["message"]["text"]
            costs = [each["properties"]["cost_ns"] for each in run["results"]]
            assert costs == sorted(range(10**6, 61 * 10**6, 10**6), reverse=True)[:kept]
            if limit == "MOST_NBYTES":
                assert 0 < kept < 60
                assert len(gzip.compress(json.dumps(sarif.to_sarif(found)).encode())) <= value
            else:
                assert kept == 25


def test_the_same_results_give_the_same_bytes() -> None:
    made = {json.dumps(sarif.to_sarif(results(severity=Severity.ERROR))) for _ in range(3)}
    assert len(made) == 1
