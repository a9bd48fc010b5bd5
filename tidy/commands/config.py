"""`tidy config`: what holds, and which file says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..check.keys import KEYS, PATH_IGNORES, RULES
from ..check.schema import schema_of
from ..check.settings import Settings
from ..check.toml import shown
from ..errors import UsageError
from ..patterns.base import Pattern
from ..patterns.option import options_of
from ..patterns.registry import load_patterns
from ..report.json_report import written_by
from .configured import settings_for

SCHEMA_VERSION = 1
_DEFAULT = "default"
_toml = json.dumps  # texts, lists of them, and numbers are written alike in both


def show_config(
    scripts: Sequence[str],
    config_file: str | None,
    no_config: bool,
    patterns: Sequence[str],
    form: str,
    schema: bool,
) -> str:
    """Return what holds for a script, or here, as text or JSON; or the schema."""
    if len(scripts) > 1:
        raise UsageError(f"config: {scripts[1]}: name one script")
    for script in scripts:
        if not Path(script).exists():
            raise UsageError(f"config: {script}: no such file or folder")
    settings = settings_for(config_file, no_config, scripts[0] if scripts else None)
    rules = load_patterns([*settings.get("patterns"), *patterns])
    if schema:
        return json.dumps(schema_of(rules), indent=1)
    settings.check(rules)
    made = _document(settings, rules)
    return json.dumps(made, indent=1) if form == "json" else "\n".join(_lines(made, rules))


def _document(settings: Settings, rules: Sequence[type[Pattern]]) -> dict[str, Any]:
    values, options = settings.values, settings.rule_options(rules)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": written_by(),
        "file": None if settings.file is None else str(settings.file),
        "keys": {
            key: {
                "value": settings.get(key),
                "source": shown(values[key].file) if key in values else _DEFAULT,
            }
            for key in KEYS
        },
        PATH_IGNORES: [
            {"pattern": each.pattern, "codes": list(each.codes), "source": shown(each.file)}
            for each in settings.path_ignores
        ],
        RULES: {
            rule.code: {
                name: {
                    "value": value.value if value else option.default,
                    "source": shown(value.file) if value else _DEFAULT,
                    "default": option.default,
                    "reason": option.reason,
                }
                for name, option in options_of(rule).items()
                for value in [options.get(rule.code, {}).get(name)]
            }
            for rule in rules
            if options_of(rule)
        },
    }


def _lines(made: dict[str, Any], rules: Sequence[type[Pattern]]) -> Iterator[str]:
    """The document as a configuration, with the source of each value behind it."""
    where = "no configuration was found" if made["file"] is None else shown(Path(made["file"]))
    yield f"# {where}"
    for key, each in made["keys"].items():
        set_ = f"# no {key}" if each["value"] is None else f"{key} = {_toml(each['value'])}"
        yield f"{set_}  # {each['source']}"
    ignores = made[PATH_IGNORES]
    if ignores:
        yield from ("", f"[{PATH_IGNORES}]")
    # Of two files that say the same pattern, the last comes first.
    for pattern in dict.fromkeys(each["pattern"] for each in ignores):
        same = [each for each in ignores if each["pattern"] == pattern]
        codes = sorted({code for each in same for code in each["codes"]})
        files = ", ".join(dict.fromkeys(each["source"] for each in same))
        yield f"{_toml(pattern)} = {_toml(codes)}  # {files}"
    for rule in rules:
        if rule.code in made[RULES]:
            yield from ("", f"[{RULES}.{rule.code}]  # {rule.slug()}")
        for name, each in made[RULES].get(rule.code, {}).items():
            yield f"{name} = {_toml(each['value'])}  # {each['source']}"
