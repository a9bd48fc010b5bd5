"""The table of collectives that a trace gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import tidy
from tidy.account import waits_for_ranks
from tidy.jobs import ProcessGroup, align, collectives_of, match, waits_of
from tidy.trace import Trace

from ..oracle.shared import load, path_of


def _trace(folder: Path, rank: int, launches: list[dict[str, Any]], world: int = 4) -> Trace:
    """A trace of NCCL, as PyTorch 2.13 writes it: c10d, record_param_comms, nccl:, kernel.

    Each launch has `at` and `took` in us, `name` and `said`; several have `beside`, when another
    kernel begins that takes 50 us.
    """
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, ts: int, dur: int, where: int, **args: Any) -> None:
        event = {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur}
        events.append(event | {"pid": where, "tid": where, "args": args})

    for number, each in enumerate(launches):
        at, link = each["at"], {"correlation": number + 1}
        add("user_annotation", f"ProfilerStep#{number}", at - 100, 900, 77)
        add("cpu_op", "c10d::allreduce_", at - 60, 50, 77, **{"External id": 3 * number + 1})
        said = {"External id": 3 * number + 2, **each["said"]}
        add("cpu_op", "record_param_comms", at - 58, 45, 77, **said)
        dims = {"Input Dims": [[256]], "Input type": ["float"], "External id": 3 * number + 3}
        add("user_annotation", each["name"], at - 56, 40, 77, **dims)
        add("cuda_runtime", "cudaLaunchKernel", at - 50, 5, 77, **link)
        on = {"device": 0, "stream": 7, **link}
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32", at, each["took"], 0, **on)
        for number_of_product, dims in enumerate(each.get("products", ())):
            shapes = {"Input Dims": dims, "Input type": ["float", "float"]}
            add("cpu_op", "aten::mm", at - 95 + 10 * number_of_product, 8, 77, **shapes)
        if "beside" in each:
            add("kernel", "gemm", each["beside"], 50, 0, device=0, stream=8)
    header = {"distributedInfo": {"rank": rank, "world_size": world}, "traceEvents": events}
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps(header), "utf-8")
    return tidy.load(path)


def _said(seq: int, group: str = "3", ranks: object = "[0, 2]", **more: Any) -> dict[str, Any]:
    return {
        "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000,
        "Out msg nelems": 1000, "Group size": 2, "Process Group Name": group,
        "Process Group Description": "mesh_dp", "Process Group Ranks": ranks, "Seq": seq, **more,
    }  # fmt: skip


def test_group_number_size_and_what_is_exposed(tmp_path: Path) -> None:
    launches = [
        {"at": 1000, "took": 200, "name": "nccl:all_reduce", "said": _said(7), "beside": 1020},
        {"at": 2000, "took": 100, "name": "nccl:all_reduce", "said": _said(8)},
    ]
    table = collectives_of(_trace(tmp_path, 2, launches))
    assert (table.rank, table.world_size) == (2, 4)
    assert table.groups == (ProcessGroup("3", (0, 2), 2, "mesh_dp"),)
    assert table.operations == ("nccl:all_reduce",)
    assert table.seq.tolist() == [7, 8]
    assert table.step.tolist() == [0, 1]
    assert table.nbytes.tolist() == [2000, 2000]
    assert table.on_device.all()
    assert table.exposed_ns.tolist() == [150_000, 100_000]
    assert (table.end_ns - table.start_ns).tolist() == [200_000, 100_000]


def test_operations_of_products_are_those_of_the_step(tmp_path: Path) -> None:
    known, unknown = [[8, 16], [16, 32]], [[], []]
    empty = [[0, 16], [16, 32]]  # as of an expert that is given no tokens
    products_of = ([known, known], [], [known, unknown], [known], [known, empty], [empty])
    launches = [
        {
            "at": 1000 * (number + 1), "took": 200, "name": "nccl:all_reduce",
            "said": _said(number), "products": products,
        }
        for number, products in enumerate(products_of)
    ]  # fmt: skip
    table = collectives_of(_trace(tmp_path, 0, launches))
    assert table.step_flops is not None
    each = 2 * 8 * 16 * 32
    assert table.step_flops.tolist() == [2 * each, -1, -1, each, each, 0]


def test_what_is_not_said_is_not_known(tmp_path: Path) -> None:
    launches = [{"at": 1000, "took": 200, "name": "nccl:all_reduce", "said": {}}]
    table = collectives_of(_trace(tmp_path, 0, launches))
    assert table.groups == ()
    assert (table.group.tolist(), table.seq.tolist()) == ([-1], [-1])
    assert table.nbytes.tolist() == [1024]


def test_a_size_in_bytes_is_that_of_the_dtype(tmp_path: Path) -> None:
    for dtype, nbytes in (("Float8_e4m3fn", 1000), ("ComplexHalf", 4000), ("Double", 8000)):
        said = _said(1) | {"dtype": dtype}
        launches = [{"at": 1000, "took": 200, "name": "nccl:all_reduce", "said": said}]
        assert collectives_of(_trace(tmp_path, 0, launches)).nbytes.tolist() == [nbytes]


def test_what_is_said_wrongly_is_not_known(tmp_path: Path) -> None:
    """Types that PyTorch does not write: the trace is read nevertheless."""
    for said in (
        _said(1) | {"Seq": "x"},
        _said(1) | {"Process Group Ranks": {"a": 1}},
        _said(1) | {"Group size": [3]},
        _said(1) | {"Seq": 10**30},
        _said(1) | {"In msg nelems": -(10**40)},
    ):
        launches = [{"at": 1000, "took": 200, "name": "nccl:all_reduce", "said": said}]
        assert collectives_of(_trace(tmp_path, 0, launches)).seq.tolist() == [-1]
    launches = [{"at": 1000, "took": 2, "name": "nccl:all_reduce", "said": _said(1, ranks=[0, 2])}]
    assert collectives_of(_trace(tmp_path, 0, launches)).groups[0].ranks == (0, 2)


def test_of_many_ranks_only_the_first_are_recorded(tmp_path: Path) -> None:
    ranks = "[" + "".join(f"{each}, " for each in range(30)) + "...]"
    said = _said(1, ranks=ranks) | {"Group size": 64}
    launches = [{"at": 1000, "took": 200, "name": "nccl:all_reduce", "said": said}]
    (group,) = collectives_of(_trace(tmp_path, 0, launches)).groups
    assert (group.ranks, group.size) == ((), 64)


def test_sends_and_receives_have_one_name(tmp_path: Path) -> None:
    launches = [
        {"at": 1000, "took": 200, "name": "nccl:send 1->0", "said": {}},
        {"at": 2000, "took": 200, "name": "nccl:recv 1<-2", "said": {}},
    ]
    table = collectives_of(_trace(tmp_path, 1, launches))
    assert table.operations == ("send/recv",)
    assert (table.source.tolist(), table.target.tolist()) == ([1, 2], [0, 1])


def test_ranks_wait_by_group_and_number(tmp_path: Path) -> None:
    """Rank 1's recording begins a collective later: by order in steps none would be the same."""

    def launches(first: int, late_us: int) -> list[dict[str, Any]]:
        return [
            {"at": 1000 * seq + 300 * seq**2 + late_us * seq, "took": 500 - late_us * seq,
             "name": "nccl:all_reduce", "said": _said(seq, ranks="[0, 1]")}
            for seq in range(first, 6)
        ]  # fmt: skip

    traces = [
        _trace(tmp_path, 0, launches(1, 0), world=2),
        _trace(tmp_path, 1, launches(2, 40), world=2),
    ]
    matched = match([collectives_of(each) for each in traces])
    assert len(matched.group) == 4
    assert waits_of(matched, align(matched)).last.tolist() == [1] * 4
    first, second = waits_for_ranks(traces)
    assert first is not None
    assert second is not None
    assert first.waiting_ns.tolist() == [80_000, 120_000, 160_000, 200_000]
    assert second.waiting_ns.tolist() == [0] * 4


def test_real_ranks_are_matched_as_their_waits_are() -> None:
    traces = [load(path_of(f"param__dlrm__dlrm_kineto__worker{rank}_step_12")) for rank in (0, 1)]
    matched = match([collectives_of(trace) for trace in traces])
    waits = waits_of(matched, align(matched))
    for place, each in enumerate(waits_for_ranks(traces)):
        assert each is not None
        mine = matched.place == place
        assert sorted(waits.waiting_ns[mine].tolist()) == sorted(each.waiting_ns.tolist())
    assert matched.missing == 6
    assert waits.is_known.all()


def test_ranks_of_gloo_are_matched_on_the_host() -> None:
    traces = [load(path_of(f"ddp_gloo_rank{rank}")) for rank in (0, 1)]
    matched = match([collectives_of(trace) for trace in traces])
    clocks = align(matched)
    waits = waits_of(matched, clocks)
    assert len(matched.group) == 6
    assert not matched.on_device.any()
    assert np.abs(clocks.offset_ns).max() < 100_000  # two processes of one machine
    barrier = matched.operation == matched.operations.index("gloo:barrier")
    assert (waits.last[barrier] == 1).all()  # rank 1 sleeps 20 ms before each
    assert (waits.lead_ns[barrier] > 19_000_000).all()


def test_numbers_too_large_for_a_column_are_read(tmp_path: Path) -> None:
    name = f"nccl:send {10**30}->1"
    launches = [{"at": 1000, "took": 200, "name": name, "said": {}}]
    path = Path(_trace(tmp_path, 0, launches).info.path)
    path.write_text(path.read_text("utf-8").replace("ProfilerStep#0", f"ProfilerStep#{10**30}"))
    table = collectives_of(tidy.load(path))
    assert table.operations == ("send/recv",)
    assert (table.source.tolist(), table.target.tolist()) == ([-1], [-1])
