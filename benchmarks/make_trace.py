"""Make a large trace out of a small one: its events again and again, each time later.

    python benchmarks/make_trace.py examples/traces/train_cnn.json.gz big.json --mb 300

The text keeps Kineto's layout, so that its size stands for as many events as in a recorded file.
Times, sequence numbers and ids grow with each repetition; names and inputs recur, as they do in a
long training run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path

_SHIFTED = re.compile(
    rb'"(ts|id|[Ee]xternal id|Ev Idx|Python id|Python parent id|Sequence number|correlation)": '
    rb"(\d+)(\.\d+)?"
)
_TIME = re.compile(rb'"ts": (\d+)(?:\.\d+)?,\s*"dur": (\d+)')
_IDS_EACH = 1 << 24


def _end_of_list(text: bytes, start: int) -> int:
    """Return the index after the JSON list that begins at `start`; other keys may follow it."""
    return json.JSONDecoder().raw_decode(text.decode("latin-1"), start)[1]


def make_trace(source: Path, target: Path, nbytes: int, first: int = 0) -> None:
    """Write a trace of about `nbytes` bytes made of the events of `source`.

    Args:
        first: the number of the first repetition. Traces made with different ones are later parts
            of one long run; equal ones are the same recording, of which tidy counts one.
    """
    packed = source.read_bytes()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    start = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = _end_of_list(text, start - 1) - 1
    events = text[start:end].strip().rstrip(b",")
    times = [(int(m[1]), int(m[1]) + int(m[2])) for m in _TIME.finditer(events)]
    span_us = max(t[1] for t in times) - min(t[0] for t in times) + 1000
    count = max(1, round(nbytes / len(events)))

    def later(match: re.Match[bytes]) -> bytes:
        by = repetition * (span_us if match[1] == b"ts" else _IDS_EACH)
        return b'"%s": %d%s' % (match[1], int(match[2]) + by, match[3] or b"")

    with target.open("wb") as file:
        file.write(text[:start])
        for repetition in range(first, first + count):
            file.write(b",\n  " if repetition > first else b"\n  ")
            file.write(_SHIFTED.sub(later, events) if repetition else events)
        file.write(text[end:])


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--mb", type=float, default=300, help="size to reach, in 10^6 bytes")
    options = parser.parse_args()
    make_trace(options.source, options.target, round(options.mb * 1e6))
    print(f"{options.target}: {options.target.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
