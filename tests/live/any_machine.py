"""Options with which a rule does not ask how much time something takes on this machine."""

from __future__ import annotations

from tidy.patterns.option import options_of

from ..patterns.rules import OWN_RULES

_OPTIONS = {
    rule.code: {
        name: value
        for name, value in (("worth-a-word", 0.0), ("longest-us", 1e6))
        if name in options_of(rule)
    }
    for rule in OWN_RULES
}


def on_any_machine(code: str) -> dict[str, float]:
    """Return the options, by name, for the rule with this code; {} for one that has none such."""
    return _OPTIONS.get(code, {})
