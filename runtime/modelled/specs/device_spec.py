"""What is known of a model of device; device_table.py has the devices themselves.

Rates are floating-point operations a second, a multiplication and an addition counting as two, all
cores at the boost clock, dense (no structured sparsity). A rate of 0 says that there is no such
path. Bandwidths are bytes a second in one direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
