"""Benchmarks are scripts beside each other: their folder is where they find one another."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
