"""`tidy-baseline.json`: an entry a finding, in an order that changes little, to be reviewed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from ..errors import UsageError, reason_of
from ..whole_file import write_whole

DEFAULT_NAME = "tidy-baseline.json"
VERSION = 1
_COMMENT = "Findings that `tidy baseline` has accepted; docs/baseline.md tells more."


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding that is accepted.

    Attributes:
        file: its source, relative to the folder of the baseline where it lies below that; "" for
            a finding without a location.
        function: that it is in.
        source: the line as it stood, or what was seen where no source was read: for people.
        cost_share: the part of the steps that it took, 0 to 1; None where that is not known.
        fingerprint: identifies the finding, and numbers those that are alike.
    """

    file: str
    function: str
    code: str
    name: str
    source: str
    cost_share: float | None
    severity: str
    fingerprint: str


@dataclass(frozen=True)
class Baseline:
    """The entries of a file, by fingerprint."""

    file: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The folder that files of entries are relative to."""
        return self.file.parent

    def write(self) -> None:
        """Write the file, whole or not at all; the same entries give the same bytes."""
        ordered = sorted(
            self.entries.values(),
            key=lambda e: (e.file, e.function, e.code, e.source, e.fingerprint),
        )
        made = {
            "schema_version": VERSION,
            "comment": _COMMENT,
            "findings": [asdict(each) for each in ordered],
        }
        text = json.dumps(made, indent=1, ensure_ascii=True) + "\n"
        try:
            write_whole(self.file, text.encode())
        except OSError as error:
            raise UsageError(f"{self.file}: cannot be written: {reason_of(error)}") from None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema_version: int
    findings: list[Entry]
    comment: str = ""


class _Version(msgspec.Struct):
    schema_version: int


def read_baseline(file: Path) -> Baseline:
    """Read the baseline in a file, or raise a UsageError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        todo = "; `tidy baseline` writes it" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{file}: cannot be read: {reason_of(error)}{todo}") from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version != VERSION:
            raise UsageError(
                f"{file}: this baseline has version {version}, and this tidy reads {VERSION}:"
                " write it again with `tidy baseline`"
            )
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = " ".join(ascii(str(error))[1:-1].split())
        raise UsageError(f"{file}: this is no baseline: {why}") from None
    return Baseline(file, {each.fingerprint: each for each in document.findings})
