"""Record the traces in `examples/traces/` again, by running the scripts beside this file.

    python examples/torch/record.py

The scripts run as modules from the repository root, so the source files named in the traces are
relative to it. The machine's name is replaced, and a trace that holds one of its folders or has
grown too large is refused, so what is written can be committed.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "examples" / "traces"
SCRIPTS = ("train_cnn", "train_cnn_fixed", "train_half")
MAX_BYTES = 200_000


def record(script: str, folder: Path) -> str:
    """Run one script and return the text of the trace it wrote."""
    trace = folder / f"{script}.json"
    command = [sys.executable, "-m", f"examples.torch.{script}", "--trace", str(trace)]
    subprocess.run(command, cwd=ROOT, check=True)
    return trace.read_text(encoding="utf-8")


def anonymise(text: str, script: str) -> str:
    """Replace what names the machine; everything else stays as the profiler wrote it."""
    for key, value in (("host_name", "localhost"), ("traceName", f"{script}.json")):
        text = re.sub(rf'"{key}": "[^"]*"', f'"{key}": "{value}"', text)
    return text


def check(text: str, packed: bytes, script: str) -> None:
    """Refuse a trace that should not be committed."""
    json.loads(text)
    for folder in (ROOT, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir())):
        if str(folder) in text:
            raise SystemExit(f"{script}: the trace names the folder {folder}")
    if len(packed) > MAX_BYTES:
        raise SystemExit(f"{script}: {len(packed)} bytes, more than {MAX_BYTES}")


def main() -> None:
    TRACES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for script in SCRIPTS:
            text = anonymise(record(script, Path(folder)), script)
            packed = gzip.compress(text.encode(), mtime=0)
            check(text, packed, script)
            target = TRACES / f"{script}.json.gz"
            target.write_bytes(packed)
            print(f"{target.relative_to(ROOT)}: {len(packed)} bytes")


if __name__ == "__main__":
    main()
