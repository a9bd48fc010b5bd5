"""What every rule of ours must say of itself, and that its examples hold."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tidy.finding import Checked, NotApplicable, NotChecked, Severity
from tidy.patterns.base import Pattern
from tidy.patterns.document import HEADINGS, sections_of
from tidy.patterns.examples import Abstains, Example, Fires, Quiet
from tidy.patterns.runner import run_patterns
from tidy.trace import Capability, Trace

from .rules import OWN_RULES

# Codes are permanent. One that was ever released stays here, with the name it had.
_RELEASED = {
    "TDY000": "named-event",
    "TDY001": "repeated-compilation",
    "TDY002": "graph-break",
    "TDY003": "cold-recording",
    "TDY004": "single-step",
    "TDY005": "lost-kernels",
    "TDY006": "clocks-apart",
    "TDY009": "debugging-aids",
    "TDY010": "unused-suppression",
    "TDY101": "synchronous-data-loader",
    "TDY102": "data-loader-bottleneck",
    "TDY103": "unpinned-copy",
    "TDY104": "blocking-copy",
    "TDY105": "uncached-preprocessing",
    "TDY106": "batch-item-by-item",
    "TDY107": "tensor-of-each-list",
    "TDY108": "batches-of-one",
    "TDY201": "extra-device-copy",
    "TDY202": "ping-pong-copies",
    "TDY203": "cast-churn",
    "TDY204": "layout-copies",
    "TDY205": "small-device-copies",
    "TDY206": "host-made-index",
    "TDY301": "host-sync-in-loop",
    "TDY302": "explicit-synchronize",
    "TDY303": "launch-blocking",
    "TDY304": "scalar-uploads",
    "TDY305": "read-before-copy-ends",
    "TDY401": "python-bound",
    "TDY402": "launch-bound",
    "TDY403": "unfused-chain",
    "TDY404": "for-loop-indexing",
    "TDY405": "garbage-collection",
    "TDY406": "per-sample-loop",
    "TDY407": "cpu-preprocessing",
    "TDY408": "growing-cat",
    "TDY409": "list-round-trip",
    "TDY410": "wrong-thread-count",
    "TDY411": "loop-of-small-ops",
    "TDY412": "growing-steps",
    "TDY413": "rare-work-each-step",
    "TDY414": "number-by-number",
    "TDY415": "one-hot-product",
    "TDY416": "broadcast-pairs",
    "TDY417": "prime-length-fft",
    "TDY501": "fp32-matmul",
    "TDY502": "float32-products",
    "TDY503": "misaligned-half-matmul",
    "TDY504": "unfused-attention",
    "TDY505": "float64-compute",
    "TDY506": "costly-autocast",
    "TDY601": "single-tensor-optimizer",
    "TDY602": "unfused-optimizer",
    "TDY603": "zeroed-gradients",
    "TDY605": "dense-embedding-gradient",
    "TDY606": "optimizer-made-anew",
    "TDY701": "bias-before-batch-norm",
    "TDY702": "gradients-in-evaluation",
    "TDY703": "repeated-backward",
    "TDY704": "unused-gradients",
    "TDY707": "evaluation-dominates",
    "TDY708": "repeated-forward",
    "TDY709": "discarded-gradients",
    "TDY710": "needless-checkpoints",
    "TDY801": "allocator-churn",
    "TDY802": "empty-cache-in-loop",
    "TDY803": "memory-near-limit",
    "TDY804": "growing-memory",
    "TDY805": "activations-dominate",
    "TDY901": "exposed-communication",
    "TDY902": "late-rank",
    "TDY903": "data-parallel",
    "TDY904": "small-collectives",
    "TDY905": "accumulation-sync",
    "TDY906": "buffer-broadcast",
    "TDY907": "unused-parameter-search",
    "TDY908": "gloo-on-a-gpu",
}
_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_KEBAB_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SENTENCE = re.compile(r"[A-Z`][^.]*(\.[^ .][^.]*)*\.")


def test_codes_are_unique_and_permanent() -> None:
    codes = [rule.code for rule in OWN_RULES]
    assert len(set(codes)) == len(codes)
    slugs = {rule.code: rule.slug() for rule in OWN_RULES}
    assert {code: slugs.get(code) for code in _RELEASED} == _RELEASED
    assert len(set(slugs.values())) == len(slugs)


@pytest.mark.parametrize("rule", OWN_RULES, ids=lambda rule: rule.code)
def test_rule(rule: type[Pattern]) -> None:
    _has_an_identity(rule)
    _stands_in_a_file_of_its_own(rule)
    _is_documented(rule)
    names = [example.name for example in rule.examples]
    assert len(set(names)) == len(names), f"two examples have one name: {names}"
    assert all(_KEBAB_NAME.fullmatch(name) for name in names), names
    kinds = {type(example) for example in rule.examples}
    # The first says nothing without a regular expression, the second without sources.
    if rule.code not in ("TDY000", "TDY010"):
        assert Fires in kinds, "no example fires"
        assert {Quiet, Abstains} & kinds, "no example is quiet"
    other = None
    for example in rule.examples:
        other = _holds(rule, example, f"example {example.name!r}", other)


def _has_an_identity(rule: type[Pattern]) -> None:
    assert re.fullmatch(r"TDY\d{3}", rule.code)
    assert _KEBAB.fullmatch(rule.slug())
    assert isinstance(rule.severity, Severity)
    assert rule.traversal in ("dfs", "bfs")
    assert isinstance(rule.needs, frozenset)
    assert all(isinstance(need, Capability) for need in rule.needs)
    assert isinstance(rule.triggers, frozenset)
    assert all(isinstance(name, str) and name for name in rule.triggers)


def _stands_in_a_file_of_its_own(rule: type[Pattern]) -> None:
    file = Path(inspect.getfile(rule))
    assert file.stem == rule.slug().replace("-", "_")
    assert file.read_text("utf-8").startswith(f'"""{rule.code}: ')
    assert [each.code for each in OWN_RULES if each.__module__ == rule.__module__] == [rule.code]


def _is_documented(rule: type[Pattern]) -> None:
    assert _SENTENCE.fullmatch(rule.summary()), rule.summary()
    assert len(rule.summary()) <= 100
    sections = sections_of(rule)
    assert tuple(sections) == ("", *HEADINGS), "the headings, in their order"
    for heading, text in sections.items():
        first = text.split("\n\n")[0]
        assert re.match(r"[A-Z`]", first), f"{heading!r} begins with no sentence"
        assert heading == "Example" or first.endswith((".", ")")), f"{heading!r} ends amid one"
    assert re.search(r"^    \S", sections["Example"], re.MULTILINE), "no drawing of the trace"
    assert rule.fix
    assert "\n" not in rule.fix
    assert len(rule.fix) <= 80
    assert not rule.fix.endswith(".")


def _holds(rule: type[Pattern], example: Example, which: str, other: Trace | None) -> Trace:
    """Whether a rule says of an example what it should, twice, and with all that belongs to it.

    Returns:
        The trace, for the next example as the `other` one.
    """
    trace, pattern = example.trace(), rule()
    trace.self_check()
    outcomes = run_patterns(trace, [pattern])
    outcome = outcomes[rule.code]
    if isinstance(example, Abstains):
        assert isinstance(outcome, (NotChecked, NotApplicable)), which
        assert outcome.reason, which
        assert not isinstance(outcome, NotChecked) or outcome.remedy, which
    else:
        assert isinstance(outcome, Checked), (which, outcome)
        if isinstance(example, Fires):
            _fires(outcome, rule, example, which)
        else:
            assert outcome == Checked(), which
    # Also of the same instance: rules keep nothing from event to event or from run to run.
    run_patterns(example.trace() if other is None else other, [pattern])
    assert run_patterns(trace, [pattern]) == outcomes, which
    assert run_patterns(trace, [rule()]) == outcomes, which
    return trace


def _fires(outcome: Checked, rule: type[Pattern], example: Fires, which: str) -> None:
    findings = outcome.findings
    assert sum(finding.count for finding in findings) == example.events, which
    assert {str(finding.location or "") for finding in findings} == {example.at}, which
    wanted = {example.severity or rule.severity}
    assert {finding.severity for finding in findings} == wanted, which
    for finding in findings:
        assert (finding.code, finding.name) == (rule.code, rule.slug())
        assert finding.fix == rule().fix_of(finding.events), which
        assert finding.fix == rule.fix or len(finding.fix) <= 80, which
        assert finding.message, which
        assert "\n" not in finding.message, which
        assert finding.cost_ns >= 0, which
        assert finding.cost_share is None or 0 <= finding.cost_share <= 1, which
