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
_REAL = DOCS.parent / "tests" / "data" / "packed" / "real"
_H100 = _REAL / "tracelens__h100__gaunernst_bert-small-uncased__1016001.json.gz"
# The trace, the width and height in pixels, and the colour scheme.
PICTURES = {
    "page.png": (DOCS / "report.json.gz", 1440, 1500, "light"),
    "page-gpu.png": (_H100, 1440, 1700, "dark"),
    "page-phone.png": (DOCS / "report.json.gz", 390, 1700, "light"),
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
        for name, (trace, width, height, scheme) in PICTURES.items():
            page = Path(folder, "page.html")
            command = [sys.executable, "-m", "tidy", "report", trace.name, "-o", str(page)]
            subprocess.run(command, cwd=trace.parent, check=False)
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
