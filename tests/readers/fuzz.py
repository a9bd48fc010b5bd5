"""Reads damaged copies of real traces: nothing but a trace or a TidyError may come of any of them.

    python tests/readers/fuzz.py ../shared/traces --count 5000 --seed 1
    python tests/readers/fuzz.py ../shared/traces --case 1:4711 --keep case.bin

A case is a pure function of the traces, the seed and its number; the second line makes one again.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import signal
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tidy
from tidy.errors import TidyError
from tidy.finding import Crashed
from tidy.report.json_report import reports_to_json
from tidy.report.text import render

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if __name__ == "__main__":
    from mutations import MUTATIONS, damage_bytes, damage_text
else:
    from .mutations import MUTATIONS, damage_bytes, damage_text

LARGEST_SOURCE_NBYTES = 150_000
TIME_LIMIT_S = 20
MEMORY_LIMIT_NBYTES = 1 << 30


class OutOfTimeError(BaseException):
    """Raised by the alarm; no `except Exception` may catch it."""


@dataclass(frozen=True)
class Case:
    """One damaged file; `label` is "seed:number"."""

    label: str
    source: str
    data: bytes


@dataclass(frozen=True)
class Outcome:
    """What became of a case; `failure` is a traceback, or empty."""

    label: str
    source: str
    kind: str
    failure: str = ""


def load_sources(folder: Path) -> dict[str, bytes]:
    """The unpacked text of each small trace below a folder, by name."""
    names = ("*.json", "*.json.gz")
    paths = sorted(path for name in names for path in folder.rglob(name))
    wanted = [p for p in paths if not p.name.endswith((".meta.json", ".tree.json.gz", "tidy.json"))]
    texts = {p.name: p.read_bytes() for p in wanted if p.stat().st_size < LARGEST_SOURCE_NBYTES}
    return {n: gzip.decompress(t) if t[:2] == b"\x1f\x8b" else t for n, t in texts.items()}


def make_case(sources: Mapping[str, bytes], seed: int, number: int) -> Case:
    """The case with this number."""
    label = f"{seed}:{number}"
    rng = random.Random(label)  # noqa: S311
    name = rng.choice(sorted(sources))
    text = bytearray(sources[name])
    packing = rng.choices(("plain", "gzip", "zip"), (7, 2, 1))[0]
    damage = rng.choices(("text", "packed", "both"), (6, 1, 1))[0] if packing != "plain" else "text"
    if damage != "packed":
        damage_text(rng, text)
    data = bytearray(_pack(bytes(text), packing))
    if damage != "text":
        damage_bytes(rng, data)
    return Case(label, name, bytes(data))


def _pack(text: bytes, packing: str) -> bytes:
    if packing == "plain":
        return text
    if packing == "gzip":
        return gzip.compress(text, 1, mtime=0)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("trace.json"), text, zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def run_case(case: Case, folder: Path, with_report: bool = True) -> Outcome:
    """Read one case in this process, and use what was read in every way."""
    path = folder / "case.json"
    path.write_bytes(case.data)
    try:
        with _time_limit():
            trace = tidy.load(path)
            trace.self_check()
            if with_report:
                _make_report(trace)
    except TidyError as error:
        if "\n" not in str(error):
            return Outcome(case.label, case.source, "refused")
        return Outcome(case.label, case.source, "failed", f"more than a line: {error}")
    except (Exception, OutOfTimeError):
        return Outcome(case.label, case.source, "failed", traceback.format_exc())
    kind = "read with warnings" if trace.info.warnings else "read"
    return Outcome(case.label, case.source, kind)


def _make_report(trace: tidy.Trace) -> None:
    report = tidy.check(trace)
    crashed = [o.traceback for o in report.outcomes.values() if isinstance(o, Crashed)]
    if crashed:
        raise AssertionError("a rule crashed\n" + "\n".join(crashed))
    render([report]).encode()
    json.dumps(reports_to_json([report], {}, 0), allow_nan=False).encode()
    for event in trace.events(range(0, len(trace), 1 + len(trace) // 500)):
        repr(event)
        str(event.location)
        hash((event.input_shapes, event.input_dtypes, event.concrete_inputs, event.input_strides))


@contextmanager
def _time_limit() -> Iterator[None]:
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTimeError(f"more than {TIME_LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def memory_limit() -> Iterator[None]:
    """Let this process have no more than a gigabyte beyond what it has now (on Linux)."""
    statm = Path("/proc/self/statm")
    if resource is None or not statm.exists():
        yield
        return
    used = int(statm.read_text("ascii").split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_LIMIT_NBYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def run_cases(cases: Iterable[Case], with_report: bool = True) -> list[Outcome]:
    """Read each case in this process under the limits."""
    with tempfile.TemporaryDirectory() as folder, memory_limit():
        return [run_case(case, Path(folder), with_report) for case in cases]


def main() -> int:
    """The command line; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("traces", type=Path, help="folder of traces")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", help="run only this one, SEED:NUMBER")
    parser.add_argument("--keep", type=Path, help="with --case: write its file here")
    parser.add_argument("--no-report", action="store_true", help="read, but run no rules")
    options = parser.parse_args()
    sources = load_sources(options.traces)
    if options.case:
        seed, number = map(int, options.case.split(":"))
        chosen = [make_case(sources, seed, number)]
        if options.keep:
            options.keep.write_bytes(chosen[0].data)
    cases = (make_case(sources, options.seed, number) for number in range(options.count))
    outcomes = run_cases(chosen if options.case else cases, not options.no_report)
    failed = [outcome for outcome in outcomes if outcome.failure]
    write = sys.stdout.write
    for outcome in failed:
        write(f"--- {outcome.label} of {outcome.source}\n{outcome.failure}\n")
    write(f"{len(sources)} traces, {len(MUTATIONS)} kinds of damage to text\n")
    for kind, count in Counter(outcome.kind for outcome in outcomes).most_common():
        write(f"{count:6,} {kind}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
