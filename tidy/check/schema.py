"""The JSON schema of tidy.toml, for editors that complete and check as one writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..patterns.base import Pattern
from ..patterns.option import Option, options_of
from .keys import ADDRESS, EXTEND, KEYS, PATH_IGNORES, RULES, Key

_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_EXTEND_TEXT = "a further configuration; what stands here comes before what stands there"
_RULES_TEXT = "options of rules, by code or name: [rules.TDY402] least-idle = 0.2"
_IGNORES_TEXT = "rules that are left out in some files: 'tests/**' = ['TDY4']"


def schema_of(rules: Sequence[type[Pattern]]) -> dict[str, Any]:
    """Return the schema, with the options of these rules."""
    options = {
        name: _table({each: _of_option(option) for each, option in known.items()}, rule.summary())
        for rule in rules
        if (known := options_of(rule))
        for name in (rule.code, rule.slug())
    }
    keys = {name: _of_key(key) for name, key in KEYS.items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "tidy.toml, or [tool.tidy] of pyproject.toml",
        **_table(
            {
                "$schema": {"type": "string"},
                EXTEND: {**_TEXT, "description": _EXTEND_TEXT},
                **keys,
                PATH_IGNORES: {
                    "type": "object",
                    "additionalProperties": _TEXTS,
                    "description": _IGNORES_TEXT,
                },
                RULES: _table(options, _RULES_TEXT),
            }
        ),
    }


def _table(properties: dict[str, Any], text: str = "") -> dict[str, Any]:
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "description": text} if text else made


def _of_key(key: Key) -> dict[str, Any]:
    default = {} if key.default is None else {"default": key.default}
    more: dict[str, Any] = {"description": key.text, **default}
    if key.choices:
        return {"enum": list(key.choices), **more}
    if key.kind in ("texts", "files"):
        return {**_TEXTS, **more}
    if key.kind in ("number", "count"):
        bound = {} if key.most is None else {"maximum": key.most}
        kind = "integer" if key.kind == "count" else "number"
        return {"type": kind, "minimum": 0, **bound, **more}
    if key.kind == "address":
        return {"type": "string", "format": "uri", "pattern": f"^{ADDRESS}$", **more}
    return {**_TEXT, **more}


def _of_option(option: Option[Any]) -> dict[str, Any]:
    bound = {} if option.most is None else {"maximum": option.most}
    return {
        "type": "integer" if isinstance(option.default, int) else "number",
        "minimum": option.least,
        **bound,
        "default": option.default,
        "description": option.reason,
    }
