"""Names as Kineto writes them, from the numbers of CUPTI.

Sources: cupti_activity.h (CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind,
CUpti_ActivitySynchronizationType), cupti_runtime_cbid.h and cupti_driver_cbid.h for the numbers;
Kineto's CuptiActivity and cupti_strings for the wording.
"""

from __future__ import annotations

import re

_MEMCPY_KINDS = dict(
    enumerate("Unknown HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP HtoD DtoH DtoD".split())
)
"""Copies by CUPTI's number; from 11 on, pages of unified memory as Nsight Systems numbers them."""
MEMORY_KINDS = (
    "Unknown",
    "Pageable",
    "Pinned",
    "Device",
    "Array",
    "Managed",
    "Device Static",
    "Managed Static",
)
"""Memory by CUPTI's number. Nsight Systems counts from Pageable = 0 and has Unknown last."""
NSYS_MEMORY_KINDS = (*MEMORY_KINDS[1:], MEMORY_KINDS[0])
_SYNC_KINDS = dict(
    enumerate(("Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"))
)

_VERSION = re.compile(r"(?:_ptsz|_ptds)?(?:_v\d{4,5})?$")

# Those that a program on PyTorch calls; the others are named by their number.
RUNTIME_CALLS = {
    3: "cudaGetDeviceCount", 4: "cudaGetDeviceProperties", 8: "cudaConfigureCall",
    9: "cudaSetupArgument", 10: "cudaGetLastError", 11: "cudaPeekAtLastError", 13: "cudaLaunch",
    14: "cudaFuncSetCacheConfig", 15: "cudaFuncGetAttributes", 16: "cudaSetDevice",
    17: "cudaGetDevice", 20: "cudaMalloc", 21: "cudaMallocPitch", 22: "cudaFree",
    25: "cudaMallocHost", 26: "cudaFreeHost", 27: "cudaHostAlloc",
    28: "cudaHostGetDevicePointer", 30: "cudaMemGetInfo", 31: "cudaMemcpy", 32: "cudaMemcpy2D",
    39: "cudaMemcpyToSymbol", 40: "cudaMemcpyFromSymbol", 41: "cudaMemcpyAsync",
    44: "cudaMemcpy2DAsync", 47: "cudaMemcpyToSymbolAsync", 48: "cudaMemcpyFromSymbolAsync",
    49: "cudaMemset", 50: "cudaMemset2D", 51: "cudaMemsetAsync", 52: "cudaMemset2DAsync",
    126: "cudaThreadSynchronize", 129: "cudaStreamCreate", 130: "cudaStreamDestroy",
    131: "cudaStreamSynchronize", 132: "cudaStreamQuery", 133: "cudaEventCreate",
    134: "cudaEventCreateWithFlags", 135: "cudaEventRecord", 136: "cudaEventDestroy",
    137: "cudaEventSynchronize", 138: "cudaEventQuery", 139: "cudaEventElapsedTime",
    144: "cudaMemcpy3D", 145: "cudaMemcpy3DAsync", 147: "cudaStreamWaitEvent",
    151: "cudaPointerGetAttributes", 152: "cudaHostRegister", 153: "cudaHostUnregister",
    154: "cudaDeviceCanAccessPeer", 155: "cudaDeviceEnablePeerAccess", 160: "cudaMemcpyPeer",
    161: "cudaMemcpyPeerAsync", 164: "cudaDeviceReset", 165: "cudaDeviceSynchronize",
    171: "cudaProfilerStart", 172: "cudaProfilerStop", 176: "cudaIpcGetEventHandle",
    177: "cudaIpcOpenEventHandle", 178: "cudaIpcGetMemHandle", 179: "cudaIpcOpenMemHandle",
    197: "cudaStreamAddCallback", 198: "cudaStreamCreateWithFlags", 200: "cudaDeviceGetAttribute",
    202: "cudaStreamCreateWithPriority", 205: "cudaDeviceGetStreamPriorityRange",
    206: "cudaMallocManaged", 210: "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    211: "cudaLaunchKernel", 213: "cudaLaunch", 214: "cudaLaunchKernel", 215: "cudaMemcpy",
    225: "cudaMemcpyAsync", 233: "cudaMemset", 235: "cudaMemsetAsync",
    239: "cudaStreamSynchronize", 240: "cudaStreamQuery", 242: "cudaEventRecord",
    247: "cudaStreamWaitEvent",
    251: "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    252: "cudaMemPrefetchAsync", 269: "cudaLaunchCooperativeKernel",
    272: "cudaLaunchCooperativeKernelMultiDevice", 273: "cudaFuncSetAttribute",
    284: "cudaLaunchHostFunc", 310: "cudaGraphInstantiate", 311: "cudaGraphLaunch",
    315: "cudaStreamBeginCapture", 317: "cudaStreamIsCapturing", 319: "cudaStreamEndCapture",
    373: "cudaMallocAsync", 375: "cudaFreeAsync", 430: "cudaLaunchKernelExC",
}  # fmt: skip
DRIVER_CALLS = {
    17: "cuCtxSynchronize", 23: "cuModuleGetFunction", 119: "cuEventRecord",
    121: "cuEventSynchronize", 126: "cuStreamSynchronize", 276: "cuMemcpyHtoD",
    277: "cuMemcpyHtoDAsync", 278: "cuMemcpyDtoH", 279: "cuMemcpyDtoHAsync", 280: "cuMemcpyDtoD",
    281: "cuMemcpyDtoDAsync", 295: "cuStreamWaitEvent", 307: "cuLaunchKernel",
}  # fmt: skip


def strip_version(name: str) -> str:
    """Return a name without its version: `cudaLaunchKernel` for `cudaLaunchKernel_ptsz_v7000`."""
    return _VERSION.sub("", name, count=1)


def memcpy_name(kind: int, source: str, target: str) -> str:
    """Return the name of a copy: `Memcpy HtoD (Pageable -> Device)`."""
    return f"Memcpy {_MEMCPY_KINDS.get(kind, 'Unknown')} ({source} -> {target})"


def sync_name(kind: int) -> str:
    """Return the name of a synchronization: `Stream Sync`."""
    return _SYNC_KINDS.get(kind, _SYNC_KINDS[0])
