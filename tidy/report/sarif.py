"""SARIF 2.1.0, which GitHub code scanning and editors read.

Sources: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; GitHub's "SARIF
support for code scanning", for what it shows and how much it takes.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from .._version import __version__
from ..check.fingerprint import fingerprint_at
from ..check.places import SourcePlace, Sources
from ..finding import Severity
from ..patterns.base import Pattern
from ..patterns.document import anchor_of, sections_of
from ..patterns.registry import load_builtin_patterns
from ..summary import FindingSummary
from ..trace import count_text, printable
from .job_text import job_texts
from .results import Results
from .sections import PlaceOnRanks, Section
from .wording import cost_of, message_of, saving_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS, MOST_NBYTES = 25_000, 10_000_000  # that GitHub takes, the second packed
_MOST_RELATED = 8
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SEVERITIES = {**_LEVELS, Severity.INFO: "recommendation"}
Json = dict[str, Any]


def to_sarif(results: Results) -> Json:
    """Return the log, with as many results as GitHub takes: those that matter most."""
    made = _results(results)
    count = min(len(made), MOST_RESULTS)
    while True:
        log = _log(results, made[:count], lost=len(made) - count)
        text = json.dumps(log).encode()
        if count == 0 or len(text) <= MOST_NBYTES or len(gzip.compress(text)) <= MOST_NBYTES:
            return log
        count = count * 3 // 4


def _log(results: Results, made: Sequence[Json], lost: int) -> Json:
    driver = {
        "name": "tidy",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule, results.rules_url) for rule in results.rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": _category(results)},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(results, lost)],
        "results": list(made),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _category(results: Results) -> str:
    """Return the id that separates the results of one script or trace from others."""
    paths = [results.script] if results.script else sorted({r.run.path for r in results.summaries})
    name = PurePath(paths[0]).name if len(paths) == 1 and paths[0] else ""
    return f"tidy/{re.sub(r'[^-.A-Za-z0-9_]', '_', name)}/" if name else "tidy/"


def _rule(rule: Pattern, page: str | None) -> Json:
    sections = sections_of(type(rule))
    # The page has the rules of tidy alone. GitHub shows `help` in any case.
    has_page = page is not None and type(rule) in load_builtin_patterns()
    help_uri = {"helpUri": f"{page}#{anchor_of(rule)}"} if has_page else {}
    long = " ".join((sections.get("") or rule.summary()).split())
    plain = "\n\n".join(f"{h}: {' '.join(t.split())}" if h else t for h, t in sections.items())
    parts = [f"**{h}**\n\n{t}" if h else t for h, t in sections.items()]
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.slug().split("-")),
        "shortDescription": {"text": _text(rule.summary())},
        "fullDescription": {"text": _text(long)},
        "help": {
            "text": _text(f"{plain}\n\nFix: {rule.fix}"),
            "markdown": "\n\n".join([*parts, f"**Fix:** {rule.fix}"]),
        },
        **help_uri,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "precision": "high",
            "problem.severity": _SEVERITIES[rule.severity],
            "tags": ["performance", "training"],
        },
    }


def _results(results: Results) -> list[Json]:
    sources = Sources(results.root)
    numbers = {rule.code: number for number, rule in enumerate(results.rules)}
    same = Counter[str]()
    is_suppressed = any(_suppressions(place.finding) for _, place in results.accepted)
    made = []
    for section, place in [*results.places, *results.accepted]:
        finding = place.finding
        source = results.script or section.runs[0].path  # of a finding without a location
        at = finding.location
        where = sources.place_of_file(source) if at is None else sources.place(at)
        key = fingerprint_at(finding, where)
        same[key] += 1
        result: Json = {
            "ruleId": finding.code,
            "ruleIndex": numbers.get(finding.code, -1),
            "level": _LEVELS[finding.severity],
            "message": {"text": _message(section, place)},
            "locations": [_location(finding, where, sources)],
            "partialFingerprints": {"primaryLocationLineHash": f"{key}:{same[key]}"},
            "properties": _properties(place),
        }
        if is_suppressed:  # all results have the list, or none
            result["suppressions"] = _suppressions(finding)
        if finding.known is not None:
            result["baselineState"] = finding.known.state
        if (further := _related(place, sources)) != []:
            result["relatedLocations"] = further
        made.append(result)
    return made


def _suppressions(finding: FindingSummary) -> list[Json]:
    if finding.acceptance is None or finding.acceptance.by != "comment":
        return []
    reason = finding.acceptance.reason
    why = {"justification": _text(reason)} if reason else {}
    return [{"kind": "inSource", "status": "accepted", **why}]


def _message(section: Section, place: PlaceOnRanks) -> str:
    sentences = [
        f"{message_of(section, place)} ({cost_of(section, place)}).",
        f"Instead: {place.finding.fix}.",
    ]
    if saving := saving_of(place):
        sentences.append(f"{saving[0].upper()}{saving[1:]}.")
    return _text(" ".join(sentences))


def _text(text: str) -> str:
    """Text of which no viewer makes a link or a placeholder."""
    lines = "\n".join(map(printable, text.split("\n")))
    return lines.replace("](", "] (").replace("{", "{{").replace("}", "}}")


def _properties(place: PlaceOnRanks) -> Json:
    finding = place.finding
    known: Json = {
        "count": place.count,
        "cost_ns": place.cost_ns,
        "cost_share": place.cost_share,
        "in_window": finding.in_window,
    }
    if finding.saving is not None:
        saving = finding.saving
        known |= {"saving_ns": [saving.low_ns, saving.high_ns], "step_ns": saving.step_ns}
    return known


def _location(finding: FindingSummary, where: SourcePlace, sources: Sources) -> Json:
    """The place to edit: that of the fix, where it is known and another one."""
    at = finding.location
    of_fix = sources.place(finding.fix_place.location) if finding.fix_place else None
    if finding.fix_place is not None and of_fix is not None and of_fix.in_project:
        at, where = finding.fix_place.location, of_fix
    location: Json = {"physicalLocation": _physical(where)}
    if at is not None:
        location["logicalLocations"] = [{"name": printable(at.function), "kind": "function"}]
    return location


def _physical(where: SourcePlace) -> Json:
    region = where.region
    shown: Json = {"startLine": region.start_line, "endLine": region.end_line}
    if region.start_column is not None:
        shown |= {"startColumn": region.start_column, "endColumn": region.end_column}
    artifact = {"uri": where.uri}
    if where.in_project:
        artifact["uriBaseId"] = "%SRCROOT%"
    return {"artifactLocation": artifact, "region": shown}


def _related(place: PlaceOnRanks, sources: Sources) -> list[Json]:
    """Where the time goes, if the fix is made elsewhere, and the user's calls around the first
    match, innermost first.
    """
    finding = place.finding
    if finding.location is None or not finding.events:
        return []
    said = {finding.location: "the time goes here"} if finding.fix_place is not None else {}
    said |= {each: f"called in {each.function}" for each in finding.called_from}
    return [
        {
            "id": number,
            "physicalLocation": _physical(sources.place(location)),
            "message": {"text": _text(text)},
        }
        for number, (location, text) in enumerate(list(said.items())[:_MOST_RELATED], 1)
    ]


def _invocation(results: Results, lost: int) -> Json:
    problems = [f"{path}: {problem}" for path, problem in results.unreadable.items()]
    gaps, crashed, jobs = [], [], []
    is_one = sum(each.job is not None for each in results.sections) == 1
    for section in results.sections:
        said = None if section.job is None else job_texts(section.job)
        if said is not None:
            of = "" if is_one else f"{section.name}: "
            jobs += [_notification(of + each, "note") for each in (*said.at_fault, *said.unknown)]
        crashed += [(code, crash.error) for code, crash in section.crashed.items()]
        gaps += [
            _notification(f"not checked: {gap.why.reason}; {gap.why.remedy}", "note", code)
            for gap in section.not_checked
            for code in gap.codes
        ]
    notes = [_notification(problem, "error") for problem in problems]
    notes += [_notification(f"crashed: {error}", "error", code) for code, error in crashed]
    notes += [_notification(f"gone, but in the baseline: {each}", "note") for each in results.gone]
    notes += jobs
    if lost:
        text = f"{count_text(lost, 'result')} left out, which matter least: GitHub takes no more"
        notes.append(_notification(text, "warning"))
    return {
        "executionSuccessful": not problems and not crashed,
        "exitCode": results.exit_code,
        "toolExecutionNotifications": notes,
        "toolConfigurationNotifications": gaps,
    }


def _notification(text: str, level: str, code: str | None = None) -> Json:
    about = {} if code is None else {"associatedRule": {"id": code}}
    return {"level": level, "message": {"text": _text(text)}, **about}
