"""From the options on the command line and the project's configuration to what holds."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..check.keys import KEYS
from ..check.settings import Settings, find_settings, load_settings
from ..errors import UsageError
from .report_options import ReportOptions

_DEFAULT = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
# What is given on the command line also sets these aside: who selects a rule wants to see it, and
# who asks for a form does not want it in the project's files.
_SETS_ASIDE = {"select": "ignore", "form": "output", "output": "form"}


def report_options_of(options: dict[str, Any], script: str | None = None) -> ReportOptions:
    """Take the options of a report out of those that click made of the command line.

    The command line comes before the configuration, and that before the defaults.
    """
    settings = settings_for(options.pop("config_file"), options.pop("no_config"), script)
    names = [each.name for each in fields(ReportOptions) if each.name in options]
    taken = {name: options.pop(name) for name in names}
    source = click.get_current_context().get_parameter_source
    given = {name for name in names if source(name) not in _DEFAULT}
    given |= {_SETS_ASIDE[name] for name in given & _SETS_ASIDE.keys()}
    for key in settings.values:
        option = KEYS[key].option
        if option not in given:
            taken[option] = settings.get(key)
    taken["baseline"] = taken.get("baseline") or None  # '' is for none where the file names one
    return ReportOptions(**taken, script=script, settings=settings)


def settings_for(config_file: str | None, no_config: bool, script: str | None = None) -> Settings:
    """Return the configuration that holds for a script, or in the working directory."""
    if no_config:
        if config_file is not None:
            raise UsageError("--no-config: this does not go together with --config")
        return Settings()
    if config_file is not None:
        return load_settings(Path(config_file))
    if script is None:
        return find_settings(Path.cwd())
    place = Path(script)
    return find_settings(place if place.is_dir() else place.parent, Path.cwd())
