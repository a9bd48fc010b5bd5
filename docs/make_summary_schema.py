"""Write docs/summary.schema.json from the types of summaries; with `--check` only compare."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("summary.schema.json")
sys.path.insert(0, str(SCHEMA.parents[1]))


def schema_text() -> str:
    """Return the schema; descriptions are the docstrings of the classes."""
    import msgspec

    from tidy.summary.form import SummaryForm

    made: dict[str, Any] = msgspec.json.schema(SummaryForm)
    for each in made["$defs"].values():
        if "description" in each:
            each["description"] = inspect.cleandoc(each["description"])
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Summary of a trace, as tidy report --summaries writes it, unpacked",
    }
    return json.dumps({**head, **made}, indent=1) + "\n"


def main() -> int:
    """Write or compare; 1 where the schema is out of date."""
    text = schema_text()
    if sys.argv[1:] == ["--check"]:
        if SCHEMA.is_file() and SCHEMA.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write("docs/summary.schema.json is out of date: run `make docs`\n")
        return 1
    SCHEMA.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
