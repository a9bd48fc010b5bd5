"""The scripts for the engine: of these files each function that takes `torch` alone."""

from __future__ import annotations

from . import (
    scripts,
    scripts_in_place,
    scripts_of_functions,
    scripts_of_graph_tools,
    scripts_of_hooks,
    scripts_of_modes,
)
from .tables import functions_of

_FILES = (
    *(scripts, scripts_in_place, scripts_of_functions),
    *(scripts_of_graph_tools, scripts_of_hooks, scripts_of_modes),
)
SCRIPTS = [script for file in _FILES for script in functions_of(vars(file), "(torch)")]
