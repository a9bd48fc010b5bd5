"""The account of one device (or of the host, in a CPU run): parts that add up to the window."""

from __future__ import annotations

from dataclasses import dataclass

from ..trace import Window
from .causes import PartName, cause_text
from .efficiency import Efficiency
from .places import Place

# A kind that holds less of a part is not worth a word beside the part's.
_WORTH_NAMING = 0.1


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an account.

    Attributes:
        part: "compute", "communication", "copy", "idle" or "host".
        cause: what computes, or why the device idles: one of the words of causes.py.
        tensor_cores: of products whether they run on Tensor Cores; None of all else.
        kinds: the finer kinds that it is made of, each with its time, the longest first.
        share: of the window, 0 to 1.
        places: the costliest, by time.
        mostly_in: the innermost function or operator that most of it is in, "" for none; of causes
            for which the place alone says little.
        calls: of host stalls how many there are.
    """

    part: str
    cause: str
    tensor_cores: bool | None
    kinds: tuple[tuple[str, int], ...]
    time_ns: int
    share: float
    places: tuple[Place, ...]
    mostly_in: str = ""
    calls: int = 0

    @property
    def name(self) -> PartName:
        """Which part it is, the same in each account."""
        return PartName(self.part, self.cause, self.tensor_cores)

    @property
    def text(self) -> str:
        """The cause as a person reads it."""
        return cause_text(self.cause, self.tensor_cores)

    @property
    def finer(self) -> tuple[str, ...]:
        """The kinds of a tenth of it or more that say more than `text`, the longest first."""
        if self.tensor_cores is not None:
            return ()
        worth = (kind for kind, ns in self.kinds if ns >= _WORTH_NAMING * self.time_ns)
        return tuple(kind for kind in worth if kind != self.text)


@dataclass(frozen=True, slots=True)
class Account:
    """Where the window's time went on one device; None is the host of a CPU run.

    Attributes:
        sort: what a report calls the device: "GPU", "MTIA", "accelerator", "host".
        idle_is_upper_bound: whether the recording lacks work of the device.
        not_counted: the parts of the recording outside of the window, where that is much of it;
            their shares are of that time.
        efficiency: how fast the device computed; None for the host, and in accounts of steps.
    """

    device: int | None
    window: Window
    parts: tuple[Part, ...]
    sort: str = "GPU"
    idle_is_upper_bound: bool = False
    efficiency: Efficiency | None = None
    not_counted: tuple[Part, ...] = ()

    def of(self, *parts: str) -> int:
        """Nanoseconds in all parts of these sorts."""
        return sum(each.time_ns for each in self.parts if each.part in parts)

    @property
    def busy_ns(self) -> int:
        """Nanoseconds with work; waiting for other ranks is none, where it is told apart."""
        waits = sum(each.time_ns for each in self.parts if each.cause == "rank-wait")
        return self.of("compute", "communication", "copy") - waits


@dataclass(frozen=True, slots=True)
class LineTime:
    """What one line of the user's source takes within the window, its backward's included.

    Attributes:
        host_ns: time of host threads in it, below calls of libraries too.
        device_ns: time of devices with work that it launched.
    """

    place: Place
    host_ns: int
    device_ns: int
