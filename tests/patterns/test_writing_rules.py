"""docs/writing-rules.md: what it shows works as it says."""

from __future__ import annotations

import re
from pathlib import Path

from tidy.commands.new_rule import check_rules, write_rule
from tidy.patterns.document import HEADINGS, sections_of
from tidy.patterns.registry import load_source

from ..test_architecture import ROOT

_PAGE = (ROOT / "docs" / "writing-rules.md").read_text("utf-8")
_BLOCKS = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)
_HOLDS = "OWN001 repeated-item: all of its 2 examples hold"


def _block(starts: str) -> str:
    (text,) = [block for block in _BLOCKS if block.lstrip().startswith(starts)]
    return text


def test_the_rule_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.py"
    path.write_text(_block("from tidy import Pattern, Severity"), "utf-8")
    assert check_rules(str(path)) == ([_HOLDS], 0)
    (rule,) = load_source(str(path))
    assert tuple(sections_of(rule)) == ("", *HEADINGS)


def test_the_steps_from_nothing_to_a_rule(tmp_path: Path) -> None:
    write_rule("repeated-item", str(tmp_path), None)
    path = tmp_path / "repeated_item.py"
    (failing,), code = check_rules(str(path))
    assert (code, failing in _PAGE) == (1, True)
    text = path.read_text("utf-8")
    text = re.sub(
        r"    examples = \(.*?\n    \)\n", lambda _: _block("examples"), text, flags=re.DOTALL
    )
    (constant,) = re.findall(r"`(READ = .*?)`", _PAGE)
    text = text.replace("\n\nclass ", f"\n\n{constant}\n\n\nclass ", 1)
    text = text.replace("Quiet, under", "Quiet, copy, launch, on_gpu")
    text = re.sub(r"(?s)    def match.*", lambda _: _block("def match"), text)
    path.write_text(text, "utf-8")
    assert check_rules(str(path)) == ([_HOLDS], 0)
    assert _HOLDS in _PAGE
