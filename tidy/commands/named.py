"""What is said where no event has a name that `--name` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ..finding import Checked, Outcome
from ..progress import say
from ..trace import Trace, printable

_CODE = "TDY000"
_MOST_NAMES, _LONGEST = 5_000, 64  # that are compared, which takes longer than the search


def say_where_no_name_matches(
    regex: str, checked: Iterable[tuple[Trace, Mapping[str, Outcome]]]
) -> None:
    """Say on stderr that no event of any trace has such a name, with those that are like it."""
    names: dict[str, str] = {}
    for trace, outcomes in checked:
        outcome = outcomes.get(_CODE)
        if isinstance(outcome, Checked) and outcome.findings:
            return
        for name in trace.names:
            if len(name) <= _LONGEST and len(names) < _MOST_NAMES:
                names[name.lower()] = name
                names.setdefault(name.lower().rpartition("::")[2], name)
    alike = [names[each] for each in get_close_matches(regex.lower(), names, n=3)]
    known = f"did you mean {' or '.join(dict.fromkeys(alike))}? " if alike else ""
    todo = "`tidy table TRACE --rows 0` lists names"
    say(printable(f"--name {regex}: no event has a name that matches: {known}{todo}"))
