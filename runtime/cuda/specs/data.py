"""The figures of each modelled device, and where they come from.

Host times are what public traces show under a profiler (medians of `cudaLaunchKernel`, and the
shortest gaps behind it); bandwidths of copies are what copies reach, not what the bus is rated at.
Figures of data sheets and white papers were compared with public pages that quote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .device_spec import DeviceSpec

_T = 1e12
_G = 1e9
_KIB = 1024
_MIB = 1024 * 1024

_COPIES = (
    "pinned: estimate, 0.8 of what PCI Express is rated at with 16 lanes; pageable: HTA's AlexNet "
    "trace (A100) and Kineto's ResNet-50 traces (V100), 4 to 11 GB/s"
)
_HOST = "launch calls, gaps and shortest kernels in public traces"
_LIMITS = "CUDA C++ Programming Guide, table of technical specifications per compute capability"

# What copies reach on each bus: from pinned memory, from pageable memory.
_PCIE3, _PCIE4, _PCIE5 = 12 * _G, 25 * _G, 50 * _G
_PAGEABLE, _PAGEABLE_PCIE5 = 6 * _G, 8 * _G


def _sources(rates: str, memory: str, size: str, host: str) -> Mapping[str, str]:
    return {
        "compute, sm_count, clock_hz, l2_nbytes, *_flops_per_s": rates,
        "memory_bytes_per_s, peer_bytes_per_s": memory,
        "memory_nbytes": size,
        "max_*, shared_*, registers_per_sm, warp_size": _LIMITS,
        "pinned_bytes_per_s, pageable_bytes_per_s": _COPIES,
        "launch_ns, start_latency_ns, kernel_floor_ns": f"{_HOST}: {host}",
    }


V100 = DeviceSpec(
    key="v100",
    name="Tesla V100-SXM2-32GB",
    compute=(7, 0),
    sm_count=80,
    clock_hz=1_530_000_000,
    memory_nbytes=34_087_305_216,
    memory_bytes_per_s=900 * _G,
    l2_nbytes=6 * _MIB,
    float64_flops_per_s=7.8 * _T,
    float32_flops_per_s=15.7 * _T,
    float16_flops_per_s=31.4 * _T,
    bfloat16_flops_per_s=15.7 * _T,
    tensor_float64_flops_per_s=0,
    tensor_tf32_flops_per_s=0,
    tensor_float16_flops_per_s=125 * _T,
    tensor_bfloat16_flops_per_s=0,
    tensor_float8_flops_per_s=0,
    pinned_bytes_per_s=_PCIE3,
    pageable_bytes_per_s=_PAGEABLE,
    peer_bytes_per_s=150 * _G,
    launch_ns=5000,
    start_latency_ns=1500,
    kernel_floor_ns=1800,
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_nbytes_per_sm=96 * _KIB,
    shared_nbytes_per_block_optin=96 * _KIB,
    sources=_sources(
        "NVIDIA Tesla V100 GPU Architecture white paper; V100 data sheet (SXM2)",
        "NVIDIA V100 data sheet (six NVLink 2 links, 300 GB/s in both directions)",
        "deviceProperties of Kineto's ResNet-50 traces (V100, 32 GB)",
        "PARAM's DLRM traces and Kineto's ResNet-50 traces (V100)",
    ),
)

T4 = DeviceSpec(
    key="t4",
    name="Tesla T4",
    compute=(7, 5),
    sm_count=40,
    clock_hz=1_590_000_000,
    memory_nbytes=15_843_721_216,
    memory_bytes_per_s=320 * _G,
    l2_nbytes=4 * _MIB,
    float64_flops_per_s=0.2544 * _T,
    float32_flops_per_s=8.1 * _T,
    float16_flops_per_s=16.2 * _T,
    bfloat16_flops_per_s=8.1 * _T,
    tensor_float64_flops_per_s=0,
    tensor_tf32_flops_per_s=0,
    tensor_float16_flops_per_s=65 * _T,
    tensor_bfloat16_flops_per_s=0,
    tensor_float8_flops_per_s=0,
    pinned_bytes_per_s=_PCIE3,
    pageable_bytes_per_s=_PAGEABLE,
    peer_bytes_per_s=12 * _G,
    launch_ns=5000,
    start_latency_ns=1500,
    kernel_floor_ns=1800,
    max_threads_per_sm=1024,
    max_blocks_per_sm=16,
    shared_nbytes_per_sm=64 * _KIB,
    shared_nbytes_per_block_optin=64 * _KIB,
    sources=_sources(
        "NVIDIA T4 data sheet; NVIDIA Turing GPU Architecture white paper",
        "NVIDIA T4 data sheet (320 GB/s; no NVLink, peers over PCIe 3)",
        "a published run of the CUDA sample deviceQuery on a T4",
        "none of a T4; those of the V100",
    ),
)

A100_40 = DeviceSpec(
    key="a100-40",
    name="NVIDIA A100-SXM4-40GB",
    compute=(8, 0),
    sm_count=108,
    clock_hz=1_410_000_000,
    memory_nbytes=42_297_524_224,
    memory_bytes_per_s=1555 * _G,
    l2_nbytes=40 * _MIB,
    float64_flops_per_s=9.7 * _T,
    float32_flops_per_s=19.5 * _T,
    float16_flops_per_s=78 * _T,
    bfloat16_flops_per_s=39 * _T,
    tensor_float64_flops_per_s=19.5 * _T,
    tensor_tf32_flops_per_s=156 * _T,
    tensor_float16_flops_per_s=312 * _T,
    tensor_bfloat16_flops_per_s=312 * _T,
    tensor_float8_flops_per_s=0,
    pinned_bytes_per_s=_PCIE4,
    pageable_bytes_per_s=_PAGEABLE,
    peer_bytes_per_s=300 * _G,
    launch_ns=5000,
    start_latency_ns=1500,
    kernel_floor_ns=1700,
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_nbytes_per_sm=164 * _KIB,
    shared_nbytes_per_block_optin=163 * _KIB,
    sources=_sources(
        "NVIDIA A100 Tensor Core GPU Architecture white paper",
        "NVIDIA A100 data sheet (SXM; NVLink 3, 600 GB/s in both directions)",
        "deviceProperties of HTA's traces (A100, 40 GB)",
        "HTA's traces of an A100",
    ),
)

A100_80 = replace(
    A100_40,
    key="a100-80",
    name="NVIDIA A100-SXM4-80GB",
    memory_nbytes=85_095_874_560,
    memory_bytes_per_s=2039 * _G,
    sources={
        **A100_40.sources,
        "memory_nbytes": "estimate: 80 GiB less what the driver and ECC keep",
    },
)

L4 = DeviceSpec(
    key="l4",
    name="NVIDIA L4",
    compute=(8, 9),
    sm_count=58,
    clock_hz=2_040_000_000,
    memory_nbytes=23_665_770_496,
    memory_bytes_per_s=300 * _G,
    l2_nbytes=48 * _MIB,
    float64_flops_per_s=0.4733 * _T,
    float32_flops_per_s=30.3 * _T,
    float16_flops_per_s=30.3 * _T,
    bfloat16_flops_per_s=30.3 * _T,
    tensor_float64_flops_per_s=0,
    tensor_tf32_flops_per_s=60 * _T,
    tensor_float16_flops_per_s=121 * _T,
    tensor_bfloat16_flops_per_s=121 * _T,
    tensor_float8_flops_per_s=242.5 * _T,
    pinned_bytes_per_s=_PCIE4,
    pageable_bytes_per_s=_PAGEABLE,
    peer_bytes_per_s=25 * _G,
    launch_ns=5000,
    start_latency_ns=1500,
    kernel_floor_ns=1700,
    max_threads_per_sm=1536,
    max_blocks_per_sm=24,
    shared_nbytes_per_sm=100 * _KIB,
    shared_nbytes_per_block_optin=99 * _KIB,
    sources=_sources(
        "NVIDIA L4 data sheet (halved where it counts sparsity); NVIDIA Ada GPU Architecture paper",
        "NVIDIA L4 data sheet (300 GB/s; no NVLink, peers over PCIe 4)",
        "estimate: 24 GB less what the driver and ECC keep",
        "none of an L4; those of the A100",
    ),
)

H100 = DeviceSpec(
    key="h100",
    name="NVIDIA H100 80GB HBM3",
    compute=(9, 0),
    sm_count=132,
    clock_hz=1_830_000_000,
    memory_nbytes=85_018_279_936,
    memory_bytes_per_s=3350 * _G,
    l2_nbytes=50 * _MIB,
    float64_flops_per_s=33.5 * _T,
    float32_flops_per_s=66.9 * _T,
    float16_flops_per_s=133.8 * _T,
    bfloat16_flops_per_s=133.8 * _T,
    tensor_float64_flops_per_s=66.9 * _T,
    tensor_tf32_flops_per_s=494.7 * _T,
    tensor_float16_flops_per_s=989.4 * _T,
    tensor_bfloat16_flops_per_s=989.4 * _T,
    tensor_float8_flops_per_s=1978.9 * _T,
    pinned_bytes_per_s=_PCIE5,
    pageable_bytes_per_s=_PAGEABLE_PCIE5,
    peer_bytes_per_s=450 * _G,
    launch_ns=4500,
    start_latency_ns=1300,
    kernel_floor_ns=1500,
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_nbytes_per_sm=228 * _KIB,
    shared_nbytes_per_block_optin=227 * _KIB,
    sources=_sources(
        "NVIDIA H100 Tensor Core GPU Architecture white paper (SXM5, dense)",
        "NVIDIA H100 data sheet (SXM; NVLink 4, 900 GB/s in both directions)",
        "deviceProperties of TraceLens' traces (H100)",
        "TraceLens' bert-small and Qwen traces (H100)",
    ),
)

H200 = replace(
    H100,
    key="h200",
    name="NVIDIA H200",
    memory_nbytes=150_110_011_392,
    memory_bytes_per_s=4800 * _G,
    sources={
        **H100.sources,
        "memory_bytes_per_s, peer_bytes_per_s": "NVIDIA H200 data sheet (SXM)",
        "memory_nbytes": "estimate: 141 GB (data sheet) less what the driver and ECC keep",
        "launch_ns, start_latency_ns, kernel_floor_ns": "none of an H200; those of the H100",
    },
)

B200 = DeviceSpec(
    key="b200",
    name="NVIDIA B200",
    compute=(10, 0),
    sm_count=148,
    clock_hz=1_965_000_000,
    memory_nbytes=191_500_000_000,
    memory_bytes_per_s=8000 * _G,
    l2_nbytes=126 * _MIB,
    float64_flops_per_s=40 * _T,
    float32_flops_per_s=80 * _T,
    float16_flops_per_s=160 * _T,
    bfloat16_flops_per_s=160 * _T,
    tensor_float64_flops_per_s=40 * _T,
    tensor_tf32_flops_per_s=1100 * _T,
    tensor_float16_flops_per_s=2250 * _T,
    tensor_bfloat16_flops_per_s=2250 * _T,
    tensor_float8_flops_per_s=4500 * _T,
    pinned_bytes_per_s=_PCIE5,
    pageable_bytes_per_s=_PAGEABLE_PCIE5,
    peer_bytes_per_s=900 * _G,
    launch_ns=4500,
    start_latency_ns=1300,
    kernel_floor_ns=1500,
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_nbytes_per_sm=228 * _KIB,
    shared_nbytes_per_block_optin=227 * _KIB,
    sources=_sources(
        "NVIDIA Blackwell Architecture Technical Brief (HGX B200, dense); not in it: "
        "ordinary 16-bit rates (twice float32), clock (an estimate), SMs and cache (measurements "
        "by Chips and Cheese)",
        "NVIDIA Blackwell Architecture Technical Brief (NVLink 5, 1.8 TB/s in both directions)",
        "estimate: 192 GB less what the driver and ECC keep",
        "none of a B200; those of the H100",
    ),
)

GENERIC = replace(
    A100_40,
    key="generic",
    name="Generic CUDA device",
    sm_count=100,
    clock_hz=1_500_000_000,
    memory_nbytes=16 * 1024 * _MIB,
    memory_bytes_per_s=1000 * _G,
    float64_flops_per_s=10 * _T,
    float32_flops_per_s=20 * _T,
    float16_flops_per_s=40 * _T,
    bfloat16_flops_per_s=40 * _T,
    tensor_float64_flops_per_s=0,
    tensor_tf32_flops_per_s=80 * _T,
    tensor_float16_flops_per_s=160 * _T,
    tensor_bfloat16_flops_per_s=160 * _T,
    pinned_bytes_per_s=_PCIE4,
    pageable_bytes_per_s=_PAGEABLE,
    peer_bytes_per_s=25 * _G,
    l2_nbytes=32 * _MIB,
    sources={
        "*": "no device that is sold: round figures between a T4 and an A100, of compute "
        "capability 8.0, so that whatever depends on TF32 and bfloat16 can be tried"
    },
)

ALL = (V100, T4, A100_40, A100_80, L4, H100, H200, B200, GENERIC)
ALIASES = {"a100": "a100-40"}
