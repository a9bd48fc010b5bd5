"""What a trace says of itself: its header, its devices, and what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

CUT_MODULES = "tidy_cut_modules_ns"


class Capability(str, Enum):
    """Something the profiler may or may not have recorded; rules name what they need."""

    label: str  # the words for it, as in "no device activity recorded"
    option: str  # what to give to `torch.profiler.profile` so that the next recording has it

    def __new__(cls, value: str, label: str, option: str) -> Capability:
        made = str.__new__(cls, value)
        made._value_, made.label, made.option = value, label, option
        return made

    OPS = "ops", "ops", "activities=[ProfilerActivity.CPU, ...]"
    SHAPES = "shapes", "input shapes", "record_shapes=True"
    STACKS = "stacks", "Python stacks", "with_stack=True"
    MEMORY = "memory", "memory", "profile_memory=True"
    DEVICE = (
        "device",
        "device activity",
        "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
    )
    STEPS = "steps", "steps", "schedule=... and prof.step() after each step"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """One entry of `deviceProperties` in the header, or what the rows of a device tell of it.

    `compute` is NVIDIA's compute capability (major, minor), and None where that is unknown or the
    device is not NVIDIA's: AMD fills the same fields with numbers of its own.
    """

    index: int
    name: str
    vendor: str  # "nvidia", "amd", "meta" (MTIA), "intel" (XPU, HPU), "other" or "unknown"
    compute: tuple[int, int] | None = None
    total_memory_nbytes: int | None = None

    @property
    def sort(self) -> str:
        """The sort of device, for a report."""
        return {"meta": "MTIA", "other": "accelerator"}.get(self.vendor, "GPU")

    @property
    def label(self) -> str:
        """What a report calls it: its name, with the sort of device where that is no GPU."""
        if self.sort == "GPU":
            return self.name or self.sort
        return f"{self.sort} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """The header of a trace file, and what its reader has to say of it.

    Attributes:
        path: the file, as the user named it.
        header: the top-level keys beside the events, decoded.
        warnings: sentences that count what was lost or is doubtful.
        lacks: capabilities that the rows seem to have and that no rule may rely on.
        is_thinned: whether only some of what was recorded is in the file.
        accelerators: those that took part beside GPUs of NVIDIA and AMD, as in `ACCELERATORS`.
        tool_options: what to give to the tool that wrote the file so that its next recording has a
            capability, for those that it can record; empty if PyTorch's profiler wrote it.
    """

    path: str = ""
    header: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = field(default_factory=list)
    lacks: frozenset[Capability] = frozenset()
    accelerators: frozenset[str] = frozenset()
    is_thinned: bool = False
    tool_options: Mapping[Capability, str] = field(default_factory=dict)

    def remedy(self, *missing: Capability) -> str:
        """Return what to do so that the next recording has all that is missing."""
        if missing and self.tool_options.keys() >= set(missing):
            options = {self.tool_options[each] for each in missing}
            # A command that another one begins with is a part of that.
            whole = [a for a in options if not any(b != a and b.startswith(a) for b in options)]
            return "record with " + " and ".join(sorted(whole))
        tool = ["torch.profiler"] if self.tool_options else []
        return "record with " + " and ".join([*tool, *(each.option for each in missing)])

    def flag(self, name: str) -> bool:
        """Tell whether the profiler option `name` (`record_shapes`, `with_stack`, ...) was on."""
        return self.header.get(name) in (1, True, "1", "true", "True")

    @property
    def framework(self) -> str:
        """What ran, such as `PyTorch 2.13.0`; "" where the header does not say."""
        said = (self.header.get(key) for key in ("framework", "framework_version"))
        return " ".join(text.partition("+")[0][:40] for text in said if isinstance(text, str))

    @property
    def other_threads(self) -> int:
        """How many threads of the script used the framework and were not recorded."""
        return _integer(self.header.get("tidy_other_threads")) or 0

    @property
    def cut_modules_ns(self) -> list[int]:
        """When the recording was cut in a call of a module, which begins anew there; ascending."""
        said = self.header.get(CUT_MODULES)
        return sorted(filter(None, map(_integer, said))) if isinstance(said, list) else []

    @property
    def threads(self) -> Mapping[str, Any]:
        """How many threads compute, and what for: `intra_op`, `processors`, `load`, `processes`.

        `idle` is how many of the processors had nothing to do while the script was recorded, and
        `variable` what the environment said: `OMP_NUM_THREADS=1`.
        """
        said = self.header.get("tidy_threads")
        return said if isinstance(said, Mapping) else {}

    @property
    def distributed(self) -> Mapping[str, Any]:
        """What the header says of the job that this process was a part of."""
        said = self.header.get("distributedInfo")
        return said if isinstance(said, Mapping) else {}

    @property
    def rank(self) -> int | None:
        """The rank of this process; None where the header has none."""
        return _integer(self.distributed.get("rank"))

    @property
    def world_size(self) -> int | None:
        """The number of processes of the job; None where the header does not say."""
        return _integer(self.distributed.get("world_size"))


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_VENDORS = {"mtia": "meta", "xpu": "intel", "hpu": "intel", "privateuse1": "other"}


def read_devices(
    header: Mapping[str, Any],
    used: Iterable[int],
    call_names: Iterable[str],
    accelerators: Iterable[str] = (),
) -> dict[int, DeviceProperties]:
    """Return the devices of a trace by index: those of the header, and any with rows of its own.

    AMD's driver fills `computeMajor` with 9 and may leave the name empty, so the vendor is told by
    the runtime's version key, the warp size and the names of the API calls.
    """
    calls = tuple(call_names)
    hip = "hip_runtime_version" in header or any(name.startswith("hip") for name in calls)
    cuda = "cuda_runtime_version" in header or any(name.startswith("cu") for name in calls)
    # A trace of another accelerator has none of the calls of CUDA.
    others = (vendor for each, vendor in _VENDORS.items() if each in accelerators)
    default = "amd" if hip else "nvidia" if cuda else next(others, "unknown")
    devices = {index: DeviceProperties(index, "", default) for index in used}
    listed = header.get("deviceProperties")
    for entry in listed if isinstance(listed, list) else ():
        index = _integer(entry.get("id")) if isinstance(entry, Mapping) else None
        if index is None:
            continue
        name = str(entry.get("name") or "")
        amd = hip or entry.get("warpSize") == 64 or name.startswith(("AMD", "Instinct", "Radeon"))
        major, minor = _integer(entry.get("computeMajor")), _integer(entry.get("computeMinor"))
        known = not amd and major is not None and default not in _VENDORS.values()
        devices[index] = DeviceProperties(
            index,
            name,
            "amd" if amd else "nvidia" if known else default,
            (major or 0, minor or 0) if known else None,
            _integer(entry.get("totalGlobalMem")),
        )
    # Where the process saw some devices only, their indexes are not those of the list.
    kinds = {replace(device, index=0) for index, device in devices.items() if device.name}
    if len(kinds) == 1:
        (kind,) = kinds
        return {index: replace(kind, index=index) for index in devices}
    return devices
