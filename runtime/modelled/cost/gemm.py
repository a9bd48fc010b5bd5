"""What a product of matrices takes: the best of some tiles, as a library's heuristic picks it.

A tile of C goes to one SM, which takes for it whichever is longer: its multiplications at the rate
of the SM, or the steps along K, none of which can begin before the one before it. There are as many
rounds as SMs need for all tiles (wave quantization); where tiles are fewer than SMs, K can be split
among several. Reading and writing the matrices once goes on meanwhile.

    ns = START + max(rounds * tile / rate, rounds * K * step, bytes / bandwidth)

Source of the effects: NVIDIA's Matrix Multiplication Background User's Guide. The constants were
fitted to public traces, see docs/modelled-device.md.
"""

from __future__ import annotations

from typing import NamedTuple

from ..specs import DeviceSpec
from .kernel_names import gemm_name, gemv_name, splitk_name
from .kernel_plan import KernelPlan, Plans, names_of
from .memory_bound import memory_ns, stream_ns

# Beyond the shortest kernel: loading the first operands, writing the last results.
_START_NS = 3300
_LEAST_K = 256
# What is lost where rows do not begin at multiples of 16 bytes: by how many times too short.
_MISALIGNED = {1: 1.0, 2: 1.4, 4: 2.6, 8: 4.0, 16: 4.0}


class Tile(NamedTuple):
    """Rows and columns of C that a block computes; how good it is; how many an SM holds."""

    rows: int
    columns: int
    share: float
    resident: int


class Cores(NamedTuple):
    """What the best kernels reach of the peak, clock cycles of a step along K, and tiles."""

    efficiency: float
    step_cycles: float
    tiles: tuple[Tile, ...]


def _tiles(text: str) -> tuple[Tile, ...]:
    rows = (line.replace("x", " ").split() for line in text.split(", "))
    return tuple(Tile(int(m), int(n), float(share), int(held)) for m, n, share, held in rows)


# Each tile: rows x columns, share, resident.
_OF_TENSOR = "256x128 1.0 1, 128x128 0.95 2, 128x64 0.85 3, 64x64 0.65 4, 32x32 0.35 8"
_OF_ORDINARY = "128x128 1.0 2, 128x64 0.95 3, 64x64 0.80 4, 128x32 0.70 4, 32x32 0.50 8"
_TENSOR, _ORDINARY = Cores(0.80, 3.0, _tiles(_OF_TENSOR)), Cores(0.88, 12.0, _tiles(_OF_ORDINARY))


class Path(NamedTuple):
    """The cores that multiply, and what they do a second."""

    kind: str
    tensor: bool
    flops_per_s: float


class Product(NamedTuple):
    """`batch` products of (m, k) and (k, n)."""

    m: int
    n: int
    k: int
    batch: int = 1

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k * self.batch


class Chosen(NamedTuple):
    """A tile (turned along the longer side), into how many parts K goes, and the time of it all."""

    rows: int
    columns: int
    split: int
    ns: float


def path_of(dtype: str, tf32: bool, spec: DeviceSpec) -> Path:
    """Tell which cores products of this dtype run on."""
    if dtype == "float32":
        if tf32 and spec.has_tf32:
            return Path("tf32", True, spec.tensor_tf32_flops_per_s)
        return Path("float32", False, spec.float32_flops_per_s)
    if dtype in ("float16", "bfloat16", "float64") or dtype.startswith("float8"):
        kind = "float8" if dtype.startswith("float8") else dtype
        rate = getattr(spec, f"tensor_{kind}_flops_per_s")
        if rate:
            return Path(kind, True, rate)
        return Path(kind, False, getattr(spec, f"{kind}_flops_per_s", spec.float32_flops_per_s))
    if dtype.startswith("complex"):  # four multiplications for one
        rate = spec.float32_flops_per_s if dtype == "complex64" else spec.float64_flops_per_s
        return Path("complex", False, rate / 4)
    return Path("integer", False, spec.float32_flops_per_s / 2)


def misalignment(dtype: str, *sizes: int) -> float:
    """Return how much slower Tensor Cores are for rows of these many elements."""
    wanted = max(1, 16 // names_of(dtype).nbytes)
    short = 1
    while short < wanted and any(size * short % wanted for size in sizes):
        short *= 2
    return _MISALIGNED[short]


def choose(
    product: Product, path: Path, memory_bound_ns: float, spec: DeviceSpec, efficiency: float = 1.0
) -> Chosen:
    """Choose the tile with the shortest time. `efficiency` is on top of what products reach."""
    m, n, k, batch = product
    cores = _TENSOR if path.tensor else _ORDINARY
    per_sm = path.flops_per_s / spec.sm_count * cores.efficiency * efficiency / 1e9
    step_ns = cores.step_cycles / spec.clock_hz * 1e9
    found: Chosen | None = None
    for tile in cores.tiles:
        rows, columns = tile[:2] if m >= n else tile[1::-1]
        blocks = -(-m // rows) * -(-n // columns) * batch
        split = 1
        while True:
            part = -(-k // split)
            busy = -(-blocks * split // spec.sm_count)
            waves = -(-blocks * split // (spec.sm_count * tile.resident))
            cores_ns = busy * 2 * rows * columns * part / (per_sm * tile.share)
            ns = max(cores_ns, waves * part * step_ns, memory_bound_ns)
            if split > 1:
                ns += spec.kernel_floor_ns + 4e9 * m * n * batch * split / spec.memory_bytes_per_s
            if found is None or ns < found.ns:
                found = Chosen(rows, columns, split, ns)
            if blocks * split >= spec.sm_count or k // (2 * split) < _LEAST_K:
                break
            split *= 2
    assert found is not None
    return found


def product_plans(
    product: Product, dtype: str, nbytes: int, layout: str, tf32: bool, spec: DeviceSpec
) -> Plans:
    """Return the kernels of a product; `nbytes` are those of all operands and of the result."""
    path = path_of(dtype, tf32, spec)
    m, n, k = product[:3]
    if m == 1 or n == 1:
        return (_vector_plan(product, dtype, nbytes, spec),)
    slower = misalignment(dtype, n, k) if path.tensor else 1.0
    memory = stream_ns(nbytes, spec) * slower
    chosen = choose(product, path, memory, spec, 1 / slower)
    name = gemm_name(path.kind, path.tensor, (chosen.rows, chosen.columns), layout, spec)
    return tile_plans(name, product, chosen, dtype, nbytes, path, spec)


def tile_plans(
    name: str, product: Product, tile: Chosen, dtype: str, nbytes: int, path: Path, spec: DeviceSpec
) -> Plans:
    """Return the kernel of a choice, and with a split K the one that adds up."""
    m, n, _, batch = product
    rows, columns, split, ns = tile
    newest = path.tensor and spec.compute >= (9, 0)
    threads = 128 if rows * columns <= 64 * 64 else 384 if newest else 256
    stage = (rows + columns) * names_of(dtype).nbytes * (32 if path.tensor else 8)
    shared = min(stage * (4 if path.tensor else 2), spec.shared_nbytes_per_block_optin)
    reduce_ns = 0
    if split > 1:
        summed = 4 * m * n * batch * split
        reduce_ns = spec.kernel_floor_ns + int(summed / spec.memory_bytes_per_s * 1e9)
    duration_ns = spec.kernel_floor_ns + _START_NS + int(ns) - reduce_ns
    grid, block = (-(-m // rows), -(-n // columns), batch * split), (threads, 1, 1)
    work, registers = (product.flops, nbytes), 168 if newest else 128
    plan = KernelPlan(name, duration_ns, *work, grid, block, registers, shared)
    if split == 1:
        return (plan,)
    name, work = splitk_name(names_of(dtype).c_type), (m * n * batch * split, summed)
    grid, block = (-(-m * n // 512), 1, batch), (32, 16, 1)
    return plan, KernelPlan(name, reduce_ns, *work, grid, block, 32, 0)


def _vector_plan(product: Product, dtype: str, nbytes: int, spec: DeviceSpec) -> KernelPlan:
    """With one row or column there is nothing to use twice: memory is the limit."""
    blocks = -(-max(product.m, product.n) // 16) * product.batch
    compute = product.flops / (spec.float32_flops_per_s * 0.5) * 1e9
    ns = max(memory_ns(nbytes, spec, blocks * 4), spec.kernel_floor_ns + int(compute))
    ns += spec.kernel_floor_ns  # the parts of each sum are added up
    name = gemv_name(names_of(dtype).c_type)
    return KernelPlan(name, ns, product.flops, nbytes, (blocks, 1, 1), (128, 1, 1), 64, 2048)
