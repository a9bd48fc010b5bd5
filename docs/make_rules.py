"""Write docs/rules.md from the rules themselves; with `--check` only compare."""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = Path(__file__).with_name("rules.md")
sys.path.insert(0, str(PAGE.parents[1]))


def main() -> int:
    """Write or compare; 1 where the page is out of date."""
    from tidy.patterns.document import rules_page
    from tidy.patterns.registry import load_builtin_patterns

    page = rules_page(load_builtin_patterns())
    if sys.argv[1:] == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
            return 0
        sys.stderr.write("docs/rules.md is out of date: run `make docs`\n")
        return 1
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
