"""What a trace says of itself, and of what it could not keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any


class Capability(str, Enum):
    """Something the profiler may or may not have recorded; rules name what they need."""

    OPS = "ops"
    SHAPES = "shapes"
    STACKS = "stacks"
    MEMORY = "memory"
    DEVICE = "device"
    STEPS = "steps"

    @property
    def label(self) -> str:
        """As in "no device activity recorded"."""
        return _LABELS.get(self, str(self.value))

    @property
    def option(self) -> str:
        """What to give to `torch.profiler.profile` so that the next recording has it."""
        return _OPTIONS[self]

    @property
    def remedy(self) -> str:
        """The same as a sentence."""
        return remedy([self])


_LABELS = {
    Capability.SHAPES: "input shapes",
    Capability.STACKS: "Python stacks",
    Capability.DEVICE: "device activity",
}
_OPTIONS = {
    Capability.OPS: "activities=[ProfilerActivity.CPU, ...]",
    Capability.SHAPES: "record_shapes=True",
    Capability.STACKS: "with_stack=True",
    Capability.MEMORY: "profile_memory=True",
    Capability.DEVICE: "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
    Capability.STEPS: "schedule=... and prof.step() after each step",
}


def remedy(missing: Iterable[Capability]) -> str:
    """What to do so that the next recording has all that is missing."""
    return "record with " + " and ".join(capability.option for capability in missing)


@dataclass(frozen=True, slots=True)
class Device:
    """One entry of `deviceProperties`, or what device rows alone tell.

    `compute` is NVIDIA's compute capability (major, minor), None where unknown or not NVIDIA:
    AMD fills the same fields with numbers of its own.
    """

    index: int
    name: str
    vendor: str  # "nvidia", "amd" or "unknown"
    compute: tuple[int, int] | None = None
    total_memory_nbytes: int | None = None


@dataclass(slots=True)
class TraceInfo:
    """The header of a trace file and what reading it found.

    `header` has the top-level keys beside the events, as decoded. `warnings` are whole sentences
    that count what was lost or doubtful.
    """

    path: str = ""
    header: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def flag(self, name: str) -> bool:
        """Whether the profiler option `name` (`record_shapes`, `with_stack`, ...) was on."""
        return self.header.get(name) in (1, True, "1", "true", "True")

    @property
    def distributed(self) -> Mapping[str, Any]:
        found = self.header.get("distributedInfo")
        return found if isinstance(found, Mapping) else {}

    @property
    def rank(self) -> int | None:
        return _integer(self.distributed.get("rank"))

    @property
    def world_size(self) -> int | None:
        return _integer(self.distributed.get("world_size"))


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_devices(
    header: Mapping[str, Any], used: Iterable[int], call_names: Iterable[str]
) -> dict[int, Device]:
    """The devices of a trace by index: those of the header, and any with rows of its own.

    AMD's driver fills `computeMajor` with 9 and may leave the name empty, so the vendor is told by
    the runtime's version key, the warp size and the names of the API calls.
    """
    calls = tuple(call_names)
    hip = "hip_runtime_version" in header or any(name.startswith("hip") for name in calls)
    cuda = "cuda_runtime_version" in header or any(name.startswith("cu") for name in calls)
    default = "amd" if hip else "nvidia" if cuda else "unknown"
    devices = {index: Device(index, "", default) for index in used}
    listed = header.get("deviceProperties")
    for entry in listed if isinstance(listed, list) else ():
        index = _integer(entry.get("id")) if isinstance(entry, Mapping) else None
        if index is None:
            continue
        name = str(entry.get("name") or "")
        amd = hip or entry.get("warpSize") == 64 or name.startswith(("AMD", "Instinct", "Radeon"))
        major, minor = _integer(entry.get("computeMajor")), _integer(entry.get("computeMinor"))
        known = not amd and major is not None
        devices[index] = Device(
            index,
            name,
            "amd" if amd else "nvidia" if major is not None else default,
            (major or 0, minor or 0) if known else None,
            _integer(entry.get("totalGlobalMem")),
        )
    # Where the process saw some devices only, their indexes are not those of the list.
    kinds = {replace(device, index=0) for index, device in devices.items() if device.name}
    if len(kinds) == 1:
        (kind,) = kinds
        return {index: replace(kind, index=index) for index in devices}
    return devices
