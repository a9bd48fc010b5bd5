"""Make docs/report.svg, the picture in the README: a real run of examples/train_mlp.py.

Run it as `python docs/make_picture.py`.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.text import Text

import tidy
from tidy.report.console import ReportConsole
from tidy.report.text import print_report

ROOT = Path(__file__).parents[1]
SCRIPT = "examples/train_mlp.py"
COMMAND = f"tidy run {SCRIPT}"


def main() -> None:
    """Record, report, and draw what a terminal shows."""
    with tempfile.TemporaryDirectory() as folder:
        trace = str(Path(folder, "trace.json"))
        done = subprocess.run(
            [sys.executable, "-m", "tidy", "run", "--trace", trace, "--fail-on", "never", SCRIPT],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        report = tidy.check(tidy.load(trace))
    report = replace(report, title=SCRIPT)
    console = ReportConsole(io.StringIO(), 92, force_terminal=True)
    console.record = console.cuts = True
    console.print(Text(f"$ {COMMAND}", style="bold"))
    epochs = [line for line in done.stdout.splitlines() if line.startswith("epoch ")]
    console.print(Text("\n".join(epochs)))
    console.print()
    print_report(console, [report], top=20)
    drawn = console.export_svg(title=COMMAND)
    # Without the fonts that it would fetch: any monospaced one will do.
    drawn = re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code", "ui-monospace, Menlo, Consolas")
    Path(ROOT, "docs", "report.svg").write_text(drawn, "utf-8")


if __name__ == "__main__":
    main()
