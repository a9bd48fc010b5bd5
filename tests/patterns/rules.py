"""The rules that come with tidy, without those of plug-ins that happen to be installed."""

from __future__ import annotations

from tidy.patterns.registry import load_patterns

OWN_RULES = [rule for rule in load_patterns() if rule.__module__.startswith("tidy.patterns.rules.")]
