"""`Option`: a number of a rule that decides a verdict and that a project may set.

    class LaunchBound(Pattern):
        least_idle = Option(0.15, "with less idle time than this part of the steps ...", most=1)

Where the rule reads `self.least_idle` it gets what the project's configuration says
(`[tool.tidy.rules.TDY402] least-idle = 0.2`), or else the default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Generic, TypeVar, overload

from tidy.errors import UsageError

# What a finding costs has to be this share of the window for a warning where no replay tells what
# its fix saves; below it is info. tidy/check/weigh.py has the share of what is saved.
# - Most rules: the 5 % of Kineto's TensorBoard plug-in.
# - Waits, and what can be mended in one line without a drawback: 1 %.
# - Input and communication: 10 %, and below 5 % they are not worth a word. The first is where
#   Kineto's plug-in warns of communication, the second where XProf calls a run input-bound.
WORTH_A_WARNING = 0.05
EASY_WARNING = 0.01
LARGE_INFO, LARGE_WARNING = 0.05, 0.10

Number = TypeVar("Number", bound=float)


class Option(Generic[Number]):
    """A number with its default, the reason for it, and its bounds.

    The default's type is the option's: a whole number, or any.

    Attributes:
        name: as configurations write it, `least-idle`.
        default: what holds where nobody sets another.
        reason: what the number decides and why it is this one, one line for `tidy explain`.
        least, most: the bounds of what makes sense; None for no upper bound.
    """

    def __init__(
        self, default: Number, reason: str, *, least: float = 0, most: float | None = None
    ) -> None:
        self.name = ""
        self.default: Number = default
        self.reason = reason
        self.least = least
        self.most = most

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name
        self.name = name.replace("_", "-")

    @overload
    def __get__(self, rule: None, owner: type) -> Option[Number]: ...
    @overload
    def __get__(self, rule: object, owner: type) -> Number: ...
    def __get__(self, rule: object, owner: type) -> Option[Number] | Number:
        """The default; what `set_options` sets stands in the instance and comes before it."""
        return self if rule is None else self.default

    @property
    def kind(self) -> str:
        """`whole number` or `number`, with the bounds."""
        what = "whole number" if isinstance(self.default, int) else "number"
        if self.most is None:
            return f"{what} from {self.least:g}"
        return f"{what} from {self.least:g} to {self.most:g}"

    def problem_of(self, value: object) -> str | None:
        """Say why the option cannot have a value; None if it can."""
        kinds: tuple[type, ...] = (int,) if isinstance(self.default, int) else (int, float)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if is_number and math.isfinite(value):  # type: ignore[arg-type]
            most = math.inf if self.most is None else self.most
            if self.least <= value <= most:  # type: ignore[operator]
                return None
        return f"{value!r} is no {self.kind}"

    def put(self, rule: object, value: float) -> None:
        """Set the option of one instance."""
        vars(rule)[self._attribute] = type(self.default)(value)


def options_of(rule: type) -> dict[str, Option[Any]]:
    """Return the options of a rule by name, in the order in which they are declared."""
    declared = {
        attribute: value
        for each in reversed(rule.__mro__)
        for attribute, value in vars(each).items()
        if isinstance(value, Option)
    }
    return {each.name: each for each in declared.values()}


def set_options(rule: Any, values: Mapping[str, Any]) -> None:
    """Set options of one instance of a rule by name.

    Raises:
        UsageError: the rule has no such option, or it cannot have the value.
    """
    known = options_of(type(rule)) if values else {}
    for name, value in values.items():
        option = known.get(name.replace("_", "-"))
        if option is None:
            alike = get_close_matches(name, known, 1)
            listed = f"the rule has {', '.join(known) or 'none'}"
            todo = f"did you mean {alike[0]}?" if alike else listed
            raise UsageError(f"{rule.code}.{name}: no such option: {todo}")
        problem = option.problem_of(value)
        if problem is not None:
            raise UsageError(f"{rule.code}.{option.name}: {problem}")
        option.put(rule, value)


def share(default: float, reason: str) -> Option[float]:
    """Declare an option that is a part of something, 0 to 1."""
    return Option(default, reason, most=1)


def warning_share(default: float) -> Option[float]:
    """Make the option for the cost share from which a finding without a saving is a warning."""
    return share(
        default,
        "where no replay tells what the fix saves, what costs this share of the steps is a warning"
        " and what costs less is info",
    )


def word_share(default: float, what: str) -> Option[float]:
    """Make the option for the share of the steps from which a rule mentions `what`."""
    return share(default, f"a smaller share of the steps in {what} is not worth a word")


def alike_rounds() -> Option[float]:
    """Make the option for the share of a loop's rounds that have one of its forms."""
    return share(0.8, "so many of the rounds have one of a few forms")


def most_forms_of_rounds() -> Option[int]:
    """Make the option for how many forms the rounds of a loop have, by its branches."""
    return Option(
        4, "two branches make four forms of a round; rounds of more are something else", least=1
    )


def habitual_reads() -> Option[int]:
    """Make the option for the number of reads of a value from which they are a finding."""
    return Option(
        3, "reads at one location, in whatever steps, below which they are no habit", least=1
    )
