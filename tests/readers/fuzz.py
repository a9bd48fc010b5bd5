"""Reads damaged copies of real traces: nothing but a report or one line may come of any of them.

    python tests/readers/fuzz.py ../shared/traces --count 100000 --seed 1 --processes 2
    python tests/readers/fuzz.py ../shared/traces --case 1:4711 --keep case.bin

JSON, plain and packed, and SQLite files are damaged; each case goes the whole way from the file to
the report, with all rules, savings, accounts and the table, within ten seconds and 300 MB.

A case is a pure function of the traces, the seed and its number; the second line makes one again.
With `--state FILE` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import multiprocessing
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tidy
from tidy.account import Accountant
from tidy.errors import TidyError
from tidy.finding import Crashed
from tidy.report.json_report import results_to_json
from tidy.report.results import Results
from tidy.report.text import render

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if __package__:
    from .mutations import MUTATIONS, damage_bytes, damage_text
    from .sqlite_mutations import damage_tables, sqlite_sources
else:
    from mutations import MUTATIONS, damage_bytes, damage_text
    from sqlite_mutations import damage_tables, sqlite_sources

LARGEST_SOURCE_NBYTES = 150_000
TIME_LIMIT_S = 10
MEMORY_LIMIT_NBYTES = 300 << 20
_SQLITE = b"SQLite format 3\0"
_CASES_AT_ONCE = 50
_SQLITE_SHARE = 0.25
_DESCRIPTIONS = (".meta.json", ".tree.json.gz", "tidy.json", ".device.json.gz")


class OutOfTimeError(BaseException):
    """Raised by the timer; no `except Exception` may catch it."""


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
    """What is damaged: the unpacked text of each small trace below a folder, and two databases."""
    names = ("*.json", "*.json.gz")
    paths = sorted(path for name in names for path in folder.rglob(name))
    wanted = [path for path in paths if not path.name.endswith(_DESCRIPTIONS)]
    texts = {p.name: p.read_bytes() for p in wanted if p.stat().st_size < LARGEST_SOURCE_NBYTES}
    return {name: _unpacked(text) for name, text in texts.items()} | sqlite_sources()


def _unpacked(data: bytes) -> bytes:
    """What is in a gzip stream, as far as it goes; other files as they are."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data)
    except zlib.error:
        return data


def make_case(sources: Mapping[str, bytes], seed: int, number: int) -> Case:
    """The case with this number."""
    label = f"{seed}:{number}"
    rng = random.Random(label)  # noqa: S311
    databases = sorted(name for name in sources if sources[name].startswith(_SQLITE))
    texts = sorted(sources.keys() - set(databases))
    if databases and rng.random() < _SQLITE_SHARE:
        name = rng.choice(databases)
        return Case(label, name, _damaged_database(rng, sources[name]))
    name = rng.choice(texts)
    text = bytearray(sources[name])
    packing = rng.choices(("plain", "gzip", "zip"), (7, 2, 1))[0]
    damage = rng.choices(("text", "packed", "both"), (6, 1, 1))[0] if packing != "plain" else "text"
    if damage != "packed":
        damage_text(rng, text)
    data = bytearray(_pack(bytes(text), packing))
    if damage != "text":
        damage_bytes(rng, data)
    return Case(label, name, bytes(data))


def _damaged_database(rng: random.Random, content: bytes) -> bytes:
    where = rng.choice(("tables", "tables", "file", "both"))
    data = bytearray(content if where == "file" else damage_tables(rng, content))
    if where != "tables":
        damage_bytes(rng, data)
    return bytes(data)


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
    report = tidy.check(trace, name="^[a-m]|\\ufffd")
    crashed = [o.traceback for o in report.outcomes.values() if isinstance(o, Crashed)]
    if crashed:
        raise AssertionError("a rule crashed\n" + "\n".join(crashed))
    render([report]).encode()
    json.dumps(results_to_json(Results([report], [], Path(), {}, 0)), allow_nan=False).encode()
    accountant = Accountant(trace)
    list(accountant.by_step())
    accountant.step_parts()
    accountant.by_line(20)
    trace.key_averages().table()
    for event in trace.events(range(0, len(trace), 1 + len(trace) // 500)):
        repr(event)
        str(event.location)
        hash((event.input_shapes, event.input_dtypes, event.concrete_inputs, event.input_strides))


@contextmanager
def _time_limit() -> Iterator[None]:
    """Ten seconds of the processor: what other programs take of a busy machine does not count."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTimeError(f"more than {TIME_LIMIT_S} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def memory_limit() -> Iterator[None]:
    """Let this process have no more than 300 MB beyond what it has now (on Linux)."""
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
    with tempfile.TemporaryDirectory() as folder:
        _load_all(Path(folder))
        with memory_limit(), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # numpy's would show on stderr
            return [run_case(case, Path(folder), with_report) for case in cases]


def _load_all(folder: Path) -> None:
    """What is loaded with the first report is no memory of a case."""
    path = folder / "first.json"
    event = (
        '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    )
    path.write_text(f"[{event}]", "utf-8")
    _make_report(tidy.load(path))


def run_numbers(
    sources: Mapping[str, bytes], seed: int, numbers: Iterable[int], with_report: bool = True
) -> list[Outcome]:
    """The cases with these numbers."""
    return run_cases((make_case(sources, seed, number) for number in numbers), with_report)


def _run_all(options: argparse.Namespace, sources: Mapping[str, bytes]) -> Iterator[Outcome]:
    """All cases from where an earlier run was stopped, in several processes."""
    state: Path | None = options.state
    first = int(state.read_text("ascii")) if state is not None and state.exists() else 0
    chunks = [
        range(start, min(start + _CASES_AT_ONCE, options.count))
        for start in range(first, options.count, _CASES_AT_ONCE)
    ]
    work = partial(run_numbers, sources, options.seed, with_report=not options.no_report)
    with multiprocessing.Pool(options.processes, maxtasksperchild=20) as pool:
        for chunk, outcomes in zip(chunks, pool.imap(work, chunks), strict=True):
            yield from outcomes
            if state is not None:
                state.write_text(str(chunk.stop), "ascii")


def main() -> int:
    """The command line; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("traces", type=Path, help="folder of traces")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--largest", type=int, default=LARGEST_SOURCE_NBYTES, help="bytes of text")
    parser.add_argument("--state", type=Path, help="remember here how far it is, and go on there")
    parser.add_argument("--case", help="run only this one, SEED:NUMBER")
    parser.add_argument("--keep", type=Path, help="with --case: write its file here")
    parser.add_argument("--no-report", action="store_true", help="read, but run no rules")
    options = parser.parse_args()
    loaded = load_sources(options.traces)
    sources = {n: t for n, t in loaded.items() if len(t) <= options.largest}
    outcomes: Iterable[Outcome]
    if options.case:
        seed, number = map(int, options.case.split(":"))
        chosen = [make_case(sources, seed, number)]
        if options.keep:
            options.keep.write_bytes(chosen[0].data)
        outcomes = run_cases(chosen, not options.no_report)
    else:
        outcomes = _run_all(options, sources)
    write, kinds, began = sys.stdout.write, Counter[str](), time.monotonic()
    write(f"seed {options.seed}: {len(sources)} files, {len(MUTATIONS)} kinds of damage to text\n")
    for outcome in outcomes:
        kinds[outcome.kind] += 1
        if outcome.failure:
            write(f"--- {outcome.label} of {outcome.source}\n{outcome.failure}\n")
            sys.stdout.flush()
    for kind, count in kinds.most_common():
        write(f"{count:7,} {kind}\n")
    write(f"{time.monotonic() - began:,.0f} s\n")
    return 1 if kinds["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
