"""`tidy new-rule`: a file for a new rule, and the check of rules by their own examples."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from pathlib import Path

from ..errors import PatternLoadError, UsageError
from ..patterns.base import Pattern
from ..patterns.checking import problems_of
from ..patterns.registry import CODE, load_patterns, load_source

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_CODE_IN_FILE = re.compile(r"^    code\b[^=\n]*=\s*[\"']([A-Z]{3})(\d{3})[\"']", re.MULTILINE)
_IMPORTED = {"Event", "Fires", "Pattern", "Quiet"}

_FILE = '''\
"""{code}: what is wrong, in half a line."""

from __future__ import annotations

from tidy.patterns.base import Pattern
from tidy.patterns.examples import AT, FRAME, Fires, Quiet, under
from tidy.trace import Event


class {name}(Pattern):
    """What is wrong, in one sentence.

    What it does: It finds ... that ..., and leaves out ...
    Why it costs: Each ... takes ...
    Example: `source code`, recorded as

        aten::item
          aten::_local_scalar_dense

    Instead: Write ...
    Cannot see: It misses ...
    """

    code = "{code}"
    triggers = frozenset({{"aten::item"}})  # the events that match() is asked about
    fix = "what to write instead, in one line"
    examples = (
        Fires("three-times", under(FRAME, "aten::item\\n" * 3), events=3, at=AT),
        Quiet("nothing-of-the-kind", under(FRAME, "aten::mm")),
    )

    def match(self, event: Event) -> bool:
        return False  # say here when it is wrong; until then the first example fails
'''


def write_rule(name: str, folder: str, code: str | None) -> list[str]:
    """Write the file, and give the lines that say what to do next.

    Args:
        name: what is wrong, as `repeated-item`, `repeated_item` or `RepeatedItem`.
        code: of the new rule; without one the next that is free in the folder.
    """
    class_name = _class_name(name)
    rule: type[Pattern] = type(class_name, (Pattern,), {})
    slug = rule.slug()
    if not Path(folder).is_dir():
        raise UsageError(f"--folder {folder}: there is no such folder")
    code = _next_code(Path(folder)) if code is None else code
    if not CODE.fullmatch(code):
        raise UsageError(f"--code {code!r}: a code is three capital letters and three digits")
    for other in load_patterns():
        taken = {other.code, other.slug()} & {code, slug}
        if taken:
            raise UsageError(f"{min(taken)} is taken by {other.code} {other.slug()}")
    path = Path(folder) / f"{slug.replace('-', '_')}.py"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_FILE.format(name=class_name, code=code))
    except FileExistsError:
        raise UsageError(f"{path}: there is such a file already; choose another name") from None
    return [
        f"Wrote {path}: rule {code} {slug}.",
        "Its example fails until the rule is written. Next:",
        f"  tidy new-rule --check {path}",
        f"  tidy explain {code} --patterns {path}",
        f"  tidy report TRACE --patterns {path}",
    ]


def check_rules(source: str) -> tuple[list[str], int]:
    """Try the rules of a file or module on their own examples.

    Gives the lines to show, and the exit code: 1 where an example does not hold.
    """
    known = {rule.code: rule for rule in load_patterns()}
    try:
        rules = load_source(source)
    except PatternLoadError as error:
        raise PatternLoadError(str(error).removeprefix("--patterns ")) from error
    lines: list[str] = []
    exit_code = 0
    for rule in rules:
        other = known.get(rule.code, rule)
        if other.__name__ != rule.__name__:
            raise PatternLoadError(f"{source}: code {rule.code} is taken by {other.slug()}")
        title = f"{rule.code} {rule.slug()}"
        problems = [
            f"{title}: example {example.name!r}: {problem}"
            for example in rule.examples
            for problem in problems_of(rule, example)
        ]
        if not rule.examples:
            problems = [f"{title}: it has no examples"]
        exit_code = 1 if problems else exit_code
        lines += problems or [f"{title}: all of its {len(rule.examples)} examples hold"]
    return lines, exit_code


def _class_name(name: str) -> str:
    class_name = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name))
    if not _NAME.fullmatch(name) or keyword.iskeyword(class_name) or class_name in _IMPORTED:
        raise UsageError(
            f"{name!r} is no name for a rule; say what is wrong in words with hyphens, such as "
            "repeated-item"
        )
    return class_name


def _next_code(folder: Path) -> str:
    """The code after the highest one of those that the files of the folder use most."""
    texts = (path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.py")))
    codes = [code for text in texts for code in _CODE_IN_FILE.findall(text)]
    if not codes:
        return "OWN001"
    letters = Counter(prefix for prefix, _ in codes).most_common(1)[0][0]
    return f"{letters}{max(int(number) for prefix, number in codes if prefix == letters) + 1:03}"
