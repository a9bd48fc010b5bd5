"""Draw docs/report.svg, the picture in the README, from docs/report.json.gz; or `--check` it.

The trace is what `tidy run --trace docs/report.json.gz examples/train_mlp.py` recorded.
"""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

PICTURE = Path(__file__).with_name("report.svg")
sys.path.insert(0, str(PICTURE.parents[1]))
SCRIPT = "examples/train_mlp.py"
COMMAND = f"tidy run {SCRIPT}"


def main() -> int:
    """Draw or compare; 1 where the picture shows another report."""
    drawn = _drawn()
    if sys.argv[1:] == ["--check"]:
        if PICTURE.is_file() and _words(PICTURE.read_text("utf-8")) == _words(drawn):
            return 0
        sys.stderr.write("docs/report.svg is out of date: run `make docs`\n")
        return 1
    PICTURE.write_text(drawn, "utf-8")
    return 0


def _drawn() -> str:
    """Return what a terminal shows after the script's own output."""
    import tidy
    from tidy.report.console import ReportConsole
    from tidy.report.text import print_report

    report = replace(tidy.check(tidy.load(PICTURE.with_suffix(".json.gz"))), title=SCRIPT)
    console = ReportConsole(io.StringIO(), 92, force_terminal=True)
    console.record = console.cuts = True
    console.show(f"$ {COMMAND}")
    console.show("...\n")
    print_report(console, [report], top=20)
    drawn = console.export_svg(title=COMMAND)
    # Without the fonts that it would fetch: any monospaced one will do.
    drawn = re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.DOTALL)
    return drawn.replace("Fira Code", "ui-monospace, Menlo, Consolas")


def _words(picture: str) -> list[str]:
    """The texts of a picture, which versions of rich draw alike."""
    return re.findall(r">([^<>]+)</text>", picture)


if __name__ == "__main__":
    sys.exit(main())
