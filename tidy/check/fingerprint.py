"""Fingerprints of findings: the same finding has the same one in each run."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ..finding import Described
from .places import SourcePlace

_NUMBER = re.compile(r"\d+(,\d{3})*(\.\d+)?( (s|ms|us|[KMG]i?B|bytes)\b)?")


def fingerprint(code: str, path: str, function: str, statement: str, message: str) -> str:
    """Return a number that stays while lines come and go, variables are renamed, and counts differ.

    Where no source was read ("" is its statement), the message tells findings apart.
    """
    import hashlib  # loads OpenSSL, and most reports have no fingerprints

    parts = (code, path, function, statement or without_numbers(message))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def without_numbers(message: str) -> str:
    """Return a message as it reads in each run: counts and times are left open, with their
    units.
    """
    return _NUMBER.sub("#", message)


def fingerprint_at(finding: Described, where: SourcePlace) -> str:
    """Return the fingerprint of a finding at a location; of outside files the name alone counts."""
    function = finding.location.function if finding.location else ""
    path = where.path if where.in_project else PurePosixPath(where.path.replace("\\", "/")).name
    return fingerprint(finding.code, path, function, where.statement, finding.message)
