"""The caching allocator: sizes in bytes, by PyTorch's statistics."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidy.runtime as torch
from tidy.runtime import cuda

from .recording import recording, slow

pytestmark = pytest.mark.usefixtures("two_t4")
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _bytes(count: int, device: str = "cuda") -> Any:
    return torch.empty(count, dtype=torch.uint8, device=device)


@pytest.mark.parametrize(
    ("asked", "allocated", "reserved"),
    [
        (0, 0, 0),
        (1, 512, 2 * MIB),
        (512, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB, 12 * MIB),  # whole 2 MiB; a rest of 1 MiB is not split off
        (12 * MIB, 12 * MIB, 12 * MIB),
    ],
)
def test_sizes(asked: int, allocated: int, reserved: int) -> None:
    x = _bytes(asked)
    assert (x.numel(), cuda.memory_allocated()) == (asked, allocated)
    assert (cuda.memory_reserved(), cuda.memory_allocated("cuda:1")) == (reserved, 0)


def test_peaks() -> None:
    x, y = _bytes(4 * KIB), _bytes(8 * KIB)
    del y
    assert (cuda.memory_allocated(), cuda.max_memory_allocated()) == (4 * KIB, 12 * KIB)
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == 4 * KIB
    del x
    assert (cuda.memory_allocated(), cuda.max_memory_reserved()) == (0, 2 * MIB)


def test_statistics_by_name() -> None:
    x = _bytes(KIB)
    _bytes(KIB)
    stats = cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == KIB
    assert stats["allocated_bytes.all.peak"] == 2 * KIB
    assert stats["allocated_bytes.all.allocated"] == 2 * KIB
    assert stats["allocated_bytes.all.freed"] == KIB
    assert stats["allocation.all.current"] == 1
    assert stats["reserved_bytes.all.current"] == 2 * MIB
    assert stats["segment.all.current"] == stats["num_device_alloc"] == 1
    assert stats["num_ooms"] == stats["num_device_free"] == 0
    del x


def test_is_used_again_on_its_stream() -> None:
    with recording() as log:
        for _ in range(3):
            _bytes(100 * KIB)
    given = [m.address for m in log.memory if m.nbytes > 0]
    assert (len(given), len(set(given))) == (3, 1)
    assert [c.name for c in log.calls].count("cudaMalloc") == 1
    with recording() as log:
        _bytes(100 * KIB)
        with cuda.stream(cuda.Stream()):
            _bytes(100 * KIB)
    assert len({m.address for m in log.memory if m.nbytes > 0}) == 2
    assert cuda.memory_reserved() == 4 * MIB


def test_neighbours_are_joined() -> None:
    """Blocks given back make room for one as large as all of them."""
    parts = [_bytes(512 * KIB) for _ in range(4)]
    assert cuda.memory_reserved() == 2 * MIB
    del parts
    x, y = _bytes(MIB), _bytes(MIB)
    assert cuda.memory_reserved() == 2 * MIB
    del x, y


def test_a_view_keeps_it_all() -> None:
    x = _bytes(MIB)
    y = x[:10]
    del x
    assert cuda.memory_allocated() == MIB
    z = y.view(2, 5).t().detach()
    del y
    assert cuda.memory_allocated() == MIB
    del z
    assert cuda.memory_allocated() == 0


class TestOutOfMemory:
    def test_says_so(self) -> None:
        kept = _bytes(3 * MIB)
        with pytest.raises(cuda.OutOfMemoryError) as caught, recording() as log:
            torch.empty(20 * GIB, dtype=torch.uint8, device="cuda")
        text = str(caught.value)
        assert text.startswith(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of "
        )
        assert "\n" not in text
        assert isinstance(caught.value, RuntimeError)
        assert type(caught.value) is torch.cuda.OutOfMemoryError
        assert [m.nbytes for m in log.memory if m.out_of_memory] == [20 * GIB]
        assert cuda.memory_stats()["num_ooms"] == 1
        assert cuda.memory_allocated() == 3 * MIB
        del kept

    def test_works_again(self) -> None:
        cuda.set_per_process_memory_fraction(0.003)
        total, x = cuda.mem_get_info()[1], _bytes(30 * MIB)
        with pytest.raises(cuda.OutOfMemoryError, match=r"Tried to allocate 30\.00 MiB"):
            _bytes(30 * MIB)
        assert cuda.memory_allocated() == 30 * MIB
        (x[:10] + 1).sum().item()
        del x
        gc.collect()
        assert _bytes(30 * MIB).numel() == 30 * MIB
        assert cuda.memory_reserved() <= 0.003 * total

    def test_gives_back_what_is_cached_first(self) -> None:
        cuda.set_per_process_memory_fraction(0.003)
        _bytes(25 * MIB)
        assert cuda.memory_reserved() == 26 * MIB
        with recording() as log:
            x = _bytes(40 * MIB)
        assert "cudaFree" in [c.name for c in log.calls]
        assert cuda.memory_reserved() == 40 * MIB
        del x

    def test_in_an_operator(self) -> None:
        """Nothing is left of it."""
        cuda.set_per_process_memory_fraction(0.003)
        x, before = torch.ones(1 << 20, device="cuda"), cuda.memory_allocated()
        with pytest.raises(cuda.OutOfMemoryError):
            x.expand(20, 1 << 20) + 1
        gc.collect()
        assert (cuda.memory_allocated(), (x + 1).sum().item()) == (before, 2 << 20)

    @pytest.mark.parametrize("fraction", [-0.1, 1.5])
    def test_a_fraction_that_is_none(self, fraction: float) -> None:
        with pytest.raises(ValueError, match="Invalid fraction value"):
            cuda.set_per_process_memory_fraction(fraction)


def test_empty_cache() -> None:
    x, y = _bytes(KIB), _bytes(30 * MIB)
    free, total = cuda.mem_get_info()
    assert total - free == cuda.memory_reserved() == 32 * MIB
    del y
    cuda.empty_cache()
    assert cuda.memory_reserved() == 2 * MIB
    assert cuda.mem_get_info() == (total - 2 * MIB, total)
    del x
    cuda.empty_cache()
    assert cuda.memory_reserved() == 0
    assert _bytes(10).numel() == 10


def test_record_stream_keeps_it_until_the_stream_is_done() -> None:
    side = cuda.Stream()
    x, big = _bytes(100 * KIB), slow()
    cuda.synchronize()
    with recording() as log:
        with cuda.stream(side):
            big = big @ big
        x.record_stream(side)
        del x
        y = _bytes(100 * KIB)
        assert not side.query()
    freed, given = (m.address for m in log.memory if abs(m.nbytes) == 100 * KIB)
    assert given != freed
    assert cuda.memory_allocated() == y.numel() + 2 * big.nbytes - big.nbytes
    side.synchronize()
    with recording() as log:
        z = _bytes(100 * KIB)
    assert [m.address for m in log.memory] == [freed]
    del z
    x = _bytes(100 * KIB)
    x.record_stream(cuda.current_stream())
    with recording() as log:
        del x
        z = _bytes(100 * KIB)
    assert len({m.address for m in log.memory}) == 1
    del y, z


def test_saved_tensors_are_kept_until_backward() -> None:
    x = torch.ones(256, 1024, device="cuda", requires_grad=True)
    one = x.nbytes
    y = x.exp().sin()  # keeps exp's result for both
    out = y.sum()
    del y
    assert cuda.memory_allocated() == 2 * one + 512
    out.backward()
    assert cuda.memory_allocated() == 2 * one + 512  # the leaf and its gradient
    del x
    assert cuda.memory_allocated() == 2 * one + 512  # `out` leads to the leaf
    del out
    assert cuda.memory_allocated() == 0


def test_a_graph_that_is_dropped_gives_it_back() -> None:
    x = torch.ones(256, 1024, device="cuda", requires_grad=True)
    out = x.exp().sin().sum()
    assert cuda.memory_allocated() > 2 * x.nbytes
    del out
    assert cuda.memory_allocated() == x.nbytes


def test_no_grad_keeps_nothing() -> None:
    x = torch.ones(256, 1024, device="cuda", requires_grad=True)
    with torch.no_grad():
        out = x.exp().sin().sum()
    assert cuda.memory_allocated() == x.nbytes + 512
    assert cuda.max_memory_allocated() == 3 * x.nbytes
    del out


SIZES = st.one_of(st.integers(0, 4000), st.integers(0, 3 * MIB), st.integers(0, 24 * MIB))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), SIZES, st.integers(0, 2)), max_size=25))
def test_blocks(steps: list[tuple[bool, int, int]]) -> None:
    """What is allocated is the sum of live sizes, rounded; blocks lie apart, in segments."""
    cuda.configure(None)
    cuda.configure("t4", 1)
    streams = [cuda.default_stream(), cuda.Stream(), cuda.Stream()]
    live: list[Any] = []
    blocks: dict[int, int] = {}
    peak = 0
    with recording() as log:
        for frees, size, stream in steps:
            if frees and live:
                del live[size % len(live)]
            else:
                with cuda.stream(streams[stream]):
                    live.append(_bytes(size))
            least = sum(-(-x.nbytes // 512) * 512 for x in live)
            # A rest that is not worth splitting off (up to 1 MiB of a large block) goes along.
            most = least + sum(MIB - 512 for x in live if x.nbytes > MIB)
            assert least <= cuda.memory_allocated() <= most
            peak = max(peak, cuda.memory_allocated())
            assert cuda.memory_allocated() <= cuda.memory_reserved()
            assert cuda.max_memory_allocated() == peak
    for change in log.memory:
        if change.nbytes > 0:
            end = change.address + change.nbytes
            assert all(end <= a or a + n <= change.address for a, n in blocks.items())
            blocks[change.address] = change.nbytes
        else:
            assert blocks.pop(change.address) == -change.nbytes
        assert change.allocated_nbytes == sum(blocks.values())
        assert change.reserved_nbytes >= change.allocated_nbytes
    live.clear()
    assert cuda.memory_allocated() == 0
    cuda.empty_cache()
    assert cuda.memory_reserved() == 0
