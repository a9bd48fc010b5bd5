"""The scripts for the engine, of all files that add some."""

from __future__ import annotations

from . import (
    scripts_in_place,
    scripts_of_functions,
    scripts_of_graph_tools,
    scripts_of_hooks,
    scripts_of_modes,
)
from .scripts import SCRIPTS

__all__ = [
    "SCRIPTS",
    "scripts_in_place",
    "scripts_of_functions",
    "scripts_of_graph_tools",
    "scripts_of_hooks",
    "scripts_of_modes",
]
