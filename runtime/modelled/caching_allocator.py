"""The caching allocator: memory given back is kept for the next tensor of its stream.

    segment (cudaMalloc)   |block in use|free block      |block in use|

Requests are rounded up to 512 bytes. Up to 1 MiB comes from segments of 2 MiB, up to 10 MiB from
segments of 20 MiB, more from segments of its own. Free neighbours are joined when no free block
is large enough. Source: c10/cuda/CUDACachingAllocator.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import RLock, get_ident

from . import activity, clock
from .activity import DeviceMemory, host_call
from .stream_timelines import StreamTimeline

_ROUND, _SMALL, _SMALL_SEGMENT = 512, 1 << 20, 2 << 20
_LARGE, _LARGE_SEGMENT, _HUGE_ROUND = 10 << 20, 20 << 20, 2 << 20
# A smaller rest of a block is not split off. Of a large block it has to be more than 1 MiB.
_LEAST_REST = {True: _ROUND, False: _SMALL + _ROUND}
_MALLOC_NS, _FREE_NS = 150_000, 100_000  # cudaMalloc, cudaFree: about what profilers show


class OutOfMemoryError(RuntimeError):
    """The device has no memory left for a tensor."""


class Block:
    """A piece of a segment. `next` is the neighbour behind it."""

    __slots__ = ("address", "in_use", "is_small", "nbytes", "next", "segment", "stream", "users")

    def __init__(self, address: int, nbytes: int, stream: int, is_small: bool) -> None:
        self.address, self.nbytes, self.stream, self.is_small = address, nbytes, stream, is_small
        self.segment = self  # the first of its segment
        self.next: Block | None = None
        self.in_use = False
        self.users: list[StreamTimeline] | None = None  # other streams, by record_stream


@dataclass(slots=True)
class Tally:
    """A quantity as time goes on: what it is now, what it was at most, and all that was added."""

    current: int = 0
    peak: int = 0
    total: int = 0

    def add(self, amount: int) -> None:
        self.current += amount
        self.total += amount
        self.peak = max(self.peak, self.current)


@dataclass(slots=True)
class MemoryStats:
    """What the allocator has given to tensors, and what it has taken of the device's memory."""

    allocations: Tally = field(default_factory=Tally)
    allocated_nbytes: Tally = field(default_factory=Tally)
    segments: Tally = field(default_factory=Tally)
    reserved_nbytes: Tally = field(default_factory=Tally)
    out_of_memory: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return the quantities by PyTorch's names."""
        counts = {"allocation": self.allocations, "allocated_bytes": self.allocated_nbytes}
        return {**counts, "segment": self.segments, "reserved_bytes": self.reserved_nbytes}


Pool = dict[int, list[Block]]  # free blocks by size


class CachingAllocator:
    """The memory of one device. All sizes are in bytes."""

    def __init__(self, device: int, total_nbytes: int) -> None:
        self.device, self.total_nbytes = device, total_nbytes
        self.limit_nbytes = total_nbytes
        self.stats = MemoryStats()
        self._free: dict[tuple[int, bool], Pool] = {}  # by stream and whether small
        self._segments: list[Block] = []
        self._late: list[tuple[int, Block]] = []  # (when other streams are done with it, block)
        self._next_address = (device + 1) << 44
        self._lock = RLock()

    # -- giving out and taking back -------------------------------------------------------------

    def allocate(self, nbytes: int, stream: int) -> Block | None:
        """Return memory for a tensor first used on `stream`, None for no bytes."""
        if not nbytes:
            return None
        size = -(-nbytes // _ROUND) * _ROUND
        pool = self._free.get((stream, size <= _SMALL))
        same = None if pool is None else pool.get(size)
        if same and not self._late:
            block = same.pop()
        else:
            with self._lock:
                block = self._find(size, stream, nbytes)
        block.in_use = True
        stats = self.stats
        stats.allocated_nbytes.add(block.nbytes)
        stats.allocations.add(1)
        if activity.logs:
            self._tell(block.address, block.nbytes)
        return block

    def _find(self, size: int, stream: int, nbytes: int) -> Block:
        """A free block of this size, or one that is made of others or of a new segment."""
        if self._late:
            self._take_late()
        small = size <= _SMALL
        pool = self._free.setdefault((stream, small), {})
        block = self._best(pool, size, small)
        if block is None and self._join(pool):
            block = self._best(pool, size, small)
        if block is None:
            block = self._split(self._new_segment(size, stream, small, nbytes), size, small)
        return block

    def free(self, block: Block | None) -> None:
        """Free a tensor's memory, which is then there for others of its stream."""
        if block is None:
            return
        self.stats.allocated_nbytes.current -= block.nbytes
        self.stats.allocations.current -= 1
        if activity.logs:
            self._tell(block.address, -block.nbytes)
        if block.users:
            self._late.append((max(s.ready_ns for s in block.users), block))
            block.users = None
        else:
            self._give_back(block)

    def record_stream(self, block: Block | None, stream: StreamTimeline) -> None:
        if block is not None and stream.number != block.stream:
            block.users = [*(block.users or ()), stream]

    def _give_back(self, block: Block) -> None:
        block.in_use = False
        pool = self._free.setdefault((block.stream, block.is_small), {})
        pool.setdefault(block.nbytes, []).append(block)

    def _take_late(self) -> None:
        now = clock.now_ns()
        for time_ns, block in self._late:
            if time_ns <= now:
                self._give_back(block)
        self._late = [each for each in self._late if each[0] > now]

    def _best(self, pool: Pool, size: int, small: bool) -> Block | None:
        """The smallest free block that is large enough, cut to size."""
        fitting = min((n for n, blocks in pool.items() if n >= size and blocks), default=0)
        return self._split(pool[fitting].pop(), size, small) if fitting else None

    def _split(self, block: Block, size: int, small: bool) -> Block:
        rest = block.nbytes - size
        if rest >= _LEAST_REST[small]:
            other = Block(block.address + size, rest, block.stream, small)
            other.segment, other.next = block.segment, block.next
            block.nbytes, block.next = size, other
            self._give_back(other)
        return block

    def _join(self, pool: Pool) -> bool:
        """Make neighbours one where they are free; whether there were any."""
        joined = False
        for segment in {block.segment for blocks in pool.values() for block in blocks}:
            for block in _blocks(segment):
                while not block.in_use and block.next is not None and not block.next.in_use:
                    other = block.next
                    if not (_take(pool, block) and _take(pool, other)):
                        break  # one of them is waiting for another stream
                    block.nbytes += other.nbytes
                    block.next = other.next
                    self._give_back(block)
                    joined = True
        return joined

    # -- segments -------------------------------------------------------------------------------

    def _new_segment(self, size: int, stream: int, small: bool, nbytes: int) -> Block:
        wanted = _SMALL_SEGMENT if small else _LARGE_SEGMENT if size < _LARGE else size
        if wanted == size:
            wanted = -(-size // _HUGE_ROUND) * _HUGE_ROUND
        if self._room() < wanted:
            self.empty_cache()
        if self._room() < wanted:
            self.stats.out_of_memory += 1
            self._tell(0, nbytes, out_of_memory=True)
            raise OutOfMemoryError(self._no_room(nbytes))
        host_call("cudaMalloc", _MALLOC_NS)
        block = Block(self._next_address, wanted, stream, small)
        self._next_address += wanted
        self._segments.append(block)
        self.stats.reserved_nbytes.add(wanted)
        self.stats.segments.add(1)
        return block

    def empty_cache(self) -> None:
        """Give segments in which nothing is in use back to the device."""
        with self._lock:
            self._late, late = [], self._late
            for _, block in late:
                self._give_back(block)
            for pool in self._free.values():
                self._join(pool)
            for segment in list(self._segments):
                if not segment.in_use and segment.next is None:
                    _take(self._free[segment.stream, segment.is_small], segment)
                    self._segments.remove(segment)
                    host_call("cudaFree", _FREE_NS)
                    self.stats.reserved_nbytes.current -= segment.nbytes
                    self.stats.segments.current -= 1

    def _room(self) -> int:
        return self.limit_nbytes - self.stats.reserved_nbytes.current

    def _no_room(self, nbytes: int) -> str:
        stats = self.stats
        in_use, reserved = stats.allocated_nbytes.current, stats.reserved_nbytes.current
        return (
            f"CUDA out of memory. Tried to allocate {_shown(nbytes)}. GPU {self.device} has a total"
            f" capacity of {_shown(self.total_nbytes)} of which {_shown(self._room())} is free. "
            f"{_shown(in_use)} is allocated by tensors, and {_shown(reserved - in_use)} is reserved"
            " but unallocated. (This device is modelled.)"
        )

    def _tell(self, address: int, nbytes: int, out_of_memory: bool = False) -> None:
        totals = self.stats.allocated_nbytes.current, self.stats.reserved_nbytes.current
        what = self.device, address, nbytes, *totals, out_of_memory
        change = DeviceMemory(clock.now_ns(), get_ident(), *what)
        for log in activity.logs:
            log.memory.append(change)


def _blocks(first: Block) -> Iterator[Block]:
    block: Block | None = first
    while block is not None:
        yield block
        block = block.next


def _take(pool: Pool, block: Block) -> bool:
    """Take a block out of the free ones; whether it was there."""
    same = pool.get(block.nbytes, [])
    is_free = block in same
    if is_free:
        same.remove(block)
    return is_free


def _shown(nbytes: int) -> str:
    """As PyTorch writes sizes."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"
