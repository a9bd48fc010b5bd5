"""What every rule of ours must say of itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tidy.finding import Severity
from tidy.patterns.base import Pattern
from tidy.patterns.examples import Abstains, Fires, Quiet
from tidy.trace import Capability

from .rules import OWN_RULES

# Codes are permanent. One that was ever released stays here, with the name it had.
_RELEASED = {
    "TDY000": "named-event",
    "TDY101": "synchronous-data-loader",
    "TDY102": "data-loader-bottleneck",
    "TDY103": "unpinned-copy",
    "TDY104": "blocking-copy",
    "TDY201": "extra-device-copy",
    "TDY202": "ping-pong-copies",
    "TDY301": "host-sync-in-loop",
    "TDY302": "explicit-synchronize",
    "TDY304": "scalar-uploads",
    "TDY402": "launch-bound",
    "TDY404": "for-loop-indexing",
    "TDY501": "fp32-matmul",
    "TDY503": "misaligned-half-matmul",
    "TDY505": "float64-compute",
    "TDY601": "single-tensor-optimizer",
    "TDY602": "unfused-optimizer",
    "TDY603": "zeroed-gradients",
    "TDY701": "bias-before-batch-norm",
    "TDY801": "allocator-churn",
    "TDY802": "empty-cache-in-loop",
    "TDY901": "exposed-communication",
    "TDY903": "data-parallel",
}
_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_KEBAB_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

_ids = [rule.code for rule in OWN_RULES]
each_rule = pytest.mark.parametrize("rule", OWN_RULES, ids=_ids)
each_anti_pattern = pytest.mark.parametrize(
    "rule", [rule for rule in OWN_RULES if rule.code != "TDY000"], ids=_ids[1:]
)


def _paragraphs(rule: type[Pattern]) -> list[str]:
    return inspect.cleandoc(rule.__doc__ or "").split("\n")


def test_codes_are_unique_and_permanent() -> None:
    assert len(set(_ids)) == len(OWN_RULES)
    slugs = {rule.code: rule.slug() for rule in OWN_RULES}
    assert {code: slugs.get(code) for code in _RELEASED} == _RELEASED


def test_slugs_are_unique() -> None:
    assert len({rule.slug() for rule in OWN_RULES}) == len(OWN_RULES)


@each_rule
def test_identity(rule: type[Pattern]) -> None:
    assert re.fullmatch(r"TDY\d{3}", rule.code)
    assert _KEBAB.fullmatch(rule.slug())
    assert isinstance(rule.severity, Severity)
    assert rule.traversal in ("dfs", "bfs")


@each_rule
def test_one_file_a_rule_called_as_its_slug(rule: type[Pattern]) -> None:
    file = Path(inspect.getfile(rule))
    assert file.stem == rule.slug().replace("-", "_")
    assert file.read_text("utf-8").startswith(f'"""{rule.code}: ')
    assert [each.code for each in OWN_RULES if each.__module__ == rule.__module__] == [rule.code]


@each_rule
def test_needs_are_capabilities(rule: type[Pattern]) -> None:
    assert isinstance(rule.needs, frozenset)
    assert all(isinstance(need, Capability) for need in rule.needs)


@each_rule
def test_triggers_are_names(rule: type[Pattern]) -> None:
    assert isinstance(rule.triggers, frozenset)
    assert all(isinstance(name, str) and name for name in rule.triggers)


@each_rule
def test_summary_is_one_sentence(rule: type[Pattern]) -> None:
    assert re.fullmatch(r"[A-Z`][^.]*(\.[^ .][^.]*)*\.", rule.summary()), rule.summary()
    assert len(rule.summary()) <= 100


@each_rule
def test_fix_is_one_line(rule: type[Pattern]) -> None:
    assert rule.fix
    assert "\n" not in rule.fix
    assert len(rule.fix) <= 80
    assert not rule.fix.endswith(".")


@each_anti_pattern
def test_documentation_draws_what_is_looked_for(rule: type[Pattern]) -> None:
    assert any(line.startswith("    ") for line in _paragraphs(rule))


@each_anti_pattern
@pytest.mark.parametrize("part", ["Cost:", "Instead:", "Misses:"])
def test_documentation_has_its_parts(rule: type[Pattern], part: str) -> None:
    assert any(line.startswith(part + " ") for line in _paragraphs(rule))


@each_anti_pattern
def test_examples_on_both_sides(rule: type[Pattern]) -> None:
    kinds = [type(example) for example in rule.examples]
    assert Fires in kinds
    assert {Quiet, Abstains} & set(kinds)


@each_rule
def test_examples_have_names_of_their_own(rule: type[Pattern]) -> None:
    names = [example.name for example in rule.examples]
    assert len(set(names)) == len(names)
    assert all(_KEBAB_NAME.fullmatch(name) for name in names)
