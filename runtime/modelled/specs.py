"""The models of device that are modelled, by name, and their figures.

Rates are floating-point operations a second, a multiplication and an addition counting as two, all
cores at the boost clock, dense (no structured sparsity). A rate of 0 says that there is no such
path. Bandwidths are bytes a second in one direction. Host times are what public traces show under a
profiler: medians of `cudaLaunchKernel`, and the shortest gaps behind it. Bandwidths of copies are
what copies reach, not what the bus is rated at. docs/modelled-device.md has the sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VARIABLE = "TIDY_DEVICE"  # names the devices of a process, as in TIDY_DEVICE=h100:2
MOST_DEVICES = 64


@dataclass(frozen=True, eq=False)
class DeviceSpec:
    """One model of device; equal to itself alone, so that it can key what is cached.

    `name` is what `cudaGetDeviceProperties` says. `tensor_*` are rates of Tensor Cores, the others
    those of ordinary ones. `launch_ns` is the host's time in one `cudaLaunchKernel`,
    `start_latency_ns` how long after it an idle device begins, `kernel_floor_ns` the shortest
    kernel.
    """

    key: str
    name: str
    compute: tuple[int, int]
    sm_count: int
    clock_hz: int
    memory_nbytes: int
    memory_bytes_per_s: float
    l2_nbytes: int
    float64_flops_per_s: float
    float32_flops_per_s: float
    float16_flops_per_s: float
    bfloat16_flops_per_s: float
    tensor_float64_flops_per_s: float
    tensor_tf32_flops_per_s: float
    tensor_float16_flops_per_s: float
    tensor_bfloat16_flops_per_s: float
    tensor_float8_flops_per_s: float
    pinned_bytes_per_s: float
    pageable_bytes_per_s: float
    peer_bytes_per_s: float
    launch_ns: int
    start_latency_ns: int
    kernel_floor_ns: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    shared_nbytes_per_sm: int
    shared_nbytes_per_block_optin: int
    shared_nbytes_per_block: int = 48 * 1024
    registers_per_sm: int = 65536
    max_threads_per_block: int = 1024
    warp_size: int = 32

    @property
    def has_tf32(self) -> bool:
        return self.tensor_tf32_flops_per_s > 0

    def properties(self, index: int) -> dict[str, Any]:
        """Return what Kineto writes of the device with this index into `deviceProperties`."""
        return {
            "id": index,
            "name": f"{self.name} (modelled)",
            "totalGlobalMem": self.memory_nbytes,
            "computeMajor": self.compute[0],
            "computeMinor": self.compute[1],
            "maxThreadsPerBlock": self.max_threads_per_block,
            "maxThreadsPerMultiprocessor": self.max_threads_per_sm,
            "regsPerBlock": self.registers_per_sm,
            "warpSize": self.warp_size,
            "sharedMemPerBlock": self.shared_nbytes_per_block,
            "numSms": self.sm_count,
            "regsPerMultiprocessor": self.registers_per_sm,
            "sharedMemPerBlockOptin": self.shared_nbytes_per_block_optin,
            "sharedMemPerMultiprocessor": self.shared_nbytes_per_sm,
        }


# A row is a field of DeviceSpec, the unit of its figures, and one figure for each device. Only a
# path that a device does not have is written as "-".
_FIGURES = """
key                          -    v100 t4 a100-40 a100-80 l4 h100 h200 b200 generic
compute                      -    7.0 7.5 8.0 8.0 8.9 9.0 9.0 10.0 8.0
sm_count                     1    80 40 108 108 58 132 132 148 100
clock_hz                     M    1530 1590 1410 1410 2040 1830 1830 1965 1500
memory_nbytes                1    34087305216 15843721216 42297524224 85095874560 23665770496
                                  85018279936 150109880320 191500000000 17179869184
memory_bytes_per_s           G    900 320 1555 2039 300 3350 4800 8000 1000
l2_nbytes                    MiB  6 4 40 40 48 50 50 126 32
float64_flops_per_s          T    7.8 0.2544 9.7 9.7 0.4733 33.5 33.5 40 10
float32_flops_per_s          T    15.7 8.1 19.5 19.5 30.3 66.9 66.9 80 20
float16_flops_per_s          T    31.4 16.2 78 78 30.3 133.8 133.8 160 40
bfloat16_flops_per_s         T    15.7 8.1 39 39 30.3 133.8 133.8 160 40
tensor_float64_flops_per_s   T    - - 19.5 19.5 - 66.9 66.9 40 -
tensor_tf32_flops_per_s      T    - - 156 156 60 494.7 494.7 1100 80
tensor_float16_flops_per_s   T    125 65 312 312 121 989.4 989.4 2250 160
tensor_bfloat16_flops_per_s  T    - - 312 312 121 989.4 989.4 2250 160
tensor_float8_flops_per_s    T    - - - - 242.5 1978.9 1978.9 4500 -
pinned_bytes_per_s           G    12 12 25 25 25 50 50 50 25
pageable_bytes_per_s         G    6 6 6 6 6 8 8 8 6
peer_bytes_per_s             G    150 12 300 300 25 450 450 900 25
launch_ns                    1    5000 5000 5000 5000 5000 4500 4500 4500 5000
start_latency_ns             1    1500 1500 1500 1500 1500 1300 1300 1300 1500
kernel_floor_ns              1    1800 1800 1700 1700 1700 1500 900 1500 1700
max_threads_per_sm           1    2048 1024 2048 2048 1536 2048 2048 2048 2048
max_blocks_per_sm            1    32 16 32 32 24 32 32 32 32
shared_nbytes_per_sm         KiB  96 64 164 164 100 228 228 228 164
shared_nbytes_per_block_optin KiB 96 64 163 163 99 227 227 227 163
"""
_UNITS = {"1": 1, "KiB": 1 << 10, "MiB": 1 << 20, "M": 10**6, "G": 1e9, "T": 1e12}
_NAMES = {
    "v100": "Tesla V100-SXM2-32GB",
    "t4": "Tesla T4",
    "a100-40": "NVIDIA A100-SXM4-40GB",
    "a100-80": "NVIDIA A100-SXM4-80GB",
    "l4": "NVIDIA L4",
    "h100": "NVIDIA H100 80GB HBM3",
    "h200": "NVIDIA H200",
    "b200": "NVIDIA B200",
    "generic": "Generic CUDA device",
}


def _specs() -> dict[str, DeviceSpec]:
    rows = [line.split() for line in _FIGURES.replace("\n     ", " ").strip().splitlines()]
    fields: dict[str, list[Any]] = {field: figures for field, _, *figures in rows}
    for field, unit, *figures in rows[2:]:
        kind = float if isinstance(_UNITS[unit], float) else int
        fields[field] = [_UNITS[unit] * kind(text.replace("-", "0")) for text in figures]
    fields["compute"] = [tuple(map(int, text.split("."))) for text in fields["compute"]]
    rows_of_devices = zip(*fields.values(), strict=True)
    specs = (dict(zip(fields, figures, strict=True)) for figures in rows_of_devices)
    return {own["key"]: DeviceSpec(name=_NAMES[own["key"]], **own) for own in specs}


SPECS = _specs()
ALIASES = {"a100": "a100-40"}


def find_spec(text: str) -> DeviceSpec:
    """Return the device of that key, in upper or lower case; ValueError lists the keys."""
    key = text.strip().lower()
    spec = SPECS.get(ALIASES.get(key, key))
    if spec is None:
        known = ", ".join([*SPECS, *ALIASES])
        raise ValueError(f"no device {text!r} is modelled; there are {known}")
    return spec


def parse_kind(text: str) -> tuple[str, int]:
    """Return a device's key and how many are wanted: (`h100`, 2) of `h100:2`, (`t4`, 1) of `t4`."""
    name, colon, number = text.partition(":")
    if not colon:
        return name, 1
    if not number.isdigit() or not 1 <= int(number) <= MOST_DEVICES:
        raise ValueError(f"{number!r} devices: expected 1 to {MOST_DEVICES}, as in h100:2")
    return name, int(number)
