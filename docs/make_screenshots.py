"""Take the pictures of the page, docs/page*.png, with chromium and Playwright.

    python docs/make_screenshots.py

Needs `pip install '.[browser]'` and a chromium; each picture is of a trace in the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
_DATA = DOCS.parent / "tests" / "data"
_REAL = _DATA / "packed" / "real"
_EXAMPLES = DOCS.parent / "examples" / "traces"
_H100 = _REAL / "tracelens__h100__gaunernst_bert-small-uncased__1016001.json.gz"
_V100 = _REAL / "kineto__resnet50_num_workers_0__worker0.1623143566756.pt.trace.383a066.json.gz"
_MODELLED = _DATA / "traces" / "device_training.pt.trace.json.gz"
_RANKS = [_REAL / f"hta__trace_filter__sampled_rank-{rank}.json.gz" for rank in (0, 1)]
_PAIR = [_EXAMPLES / "train_cnn.json.gz", _EXAMPLES / "train_cnn_fixed.json.gz"]
# The command and its traces, the width and height in pixels, and the colour scheme.
PICTURES = {
    "page.png": ("report", [DOCS / "report.json.gz"], 1440, 1500, "light"),
    "page-phone.png": ("report", [DOCS / "report.json.gz"], 390, 1700, "light"),
    "page-gpu.png": ("report", [_H100], 1440, 1700, "dark"),
    "page-v100.png": ("report", [_V100], 1440, 1700, "light"),
    "page-modelled.png": ("report", [_MODELLED], 1440, 1700, "light"),
    "page-ranks.png": ("report", _RANKS, 1440, 1700, "light"),
    "page-diff.png": ("diff", _PAIR, 1440, 1500, "light"),
}


def main() -> int:
    """Write the pictures; 1 where there is no browser."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if program is None:
        sys.stderr.write("no chromium on the PATH\n")
        return 1
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (command, traces, width, height, scheme) in PICTURES.items():
            page = Path(folder, "page.html")
            given = [trace.name for trace in traces]
            made = [sys.executable, "-m", "tidy", command, *given, "-o", str(page)]
            subprocess.run(made, cwd=traces[0].parent, check=False)
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto(page.as_uri())
            tab.wait_for_selector("canvas.slices")
            tab.wait_for_timeout(500)
            tab.screenshot(path=DOCS / name)
            tab.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
