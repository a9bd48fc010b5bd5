"""The same of runs that were recorded before and after a change, and of those recorded for tests.

The pairs are from PyTorch's benchmarks, SAM 2, segment-anything-fast and an example of CUDA graphs.
The others ran with PyTorch 2.13 on a CPU, each to hold one thing; small as they are, most of their
time is first steps.
"""

from __future__ import annotations

from judgements import Judged

_PAGEABLE = "all copies are `Pageable`, 4.5 to 4.8 GB/s, and the host waits for each"
_BY_HAND = "SAM's `LayerNorm2d`: mean, sub, pow, mean, sqrt, div, each over all of the tensor"
_FLOAT32 = "a model in float32: its products run in `sgemm` kernels, on ordinary cores"
_TF32 = "convolutions and attention use TF32; half precision is twice as fast on this device"
_MASKS = "`nonzero` of each mask gives its number of items to the host, which waits for it"
_READ = "`aten::to` copies to the host, which waits for it: 20 ms of the device's idle time"

_GROWS = "15 cats of masks, each of all rows so far: 30 ms of the GPU copy 0.1 to 0.9 GB again"
PAIRS = {
    "copy_non_blocking/before": Judged(
        "a benchmark of copies from and to pageable memory", "TDY103", {"TDY103": _PAGEABLE}
    ),
    "copy_non_blocking/after": Judged(
        "the same: `non_blocking=True` does nothing for pageable memory",
        "TDY103",
        {"TDY103": _PAGEABLE},
    ),
    "copy_pin_memory/before": Judged(
        "the same: `non_blocking=True` does nothing for pageable memory",
        "TDY103",
        {"TDY103": _PAGEABLE},
    ),
    "copy_pin_memory/after": Judged(
        "pinned: copies in both directions at once take all of the time",
        "account: copies; TDY202, as info",
    ),
    "cuda_graph_manual_capture/before": Judged(
        "launch-bound: 34 kernels of 5 us in a step of 2.4 ms",
        "TDY402",
        {"TDY402": "the GPU idles for 67 %; captured as one graph the step took 0.90 ms"},
    ),
    "cuda_graph_manual_capture/after": Judged(
        "one graph a step: its kernels fill the device, and the host runs ahead",
        "account: busy for 98 %, products on Tensor Cores; TDY502, as info: no sizes in a graph",
    ),
    "sam2_vectorised_rle_loop/before": Judged(
        f"{_FLOAT32}; then a loop over the lines of masks",
        "TDY501 and TDY404, in this order",
        {
            "TDY501": f"{_FLOAT32}, 24 % of the run",
            "TDY404": "467 rounds of slices and `nonzero`; written as one operation they were gone",
            "TDY502": _TF32,
            "TDY301": _MASKS,
            "TDY403": _BY_HAND,
        },
    ),
    "sam2_vectorised_rle_loop/after": Judged(
        _FLOAT32,
        "TDY501",
        {"TDY501": f"{_FLOAT32}, 29 % of the run", "TDY502": _TF32, "TDY301": _MASKS}
        | {"TDY403": _BY_HAND},
    ),
    "sam_null_comments_only/before": Judged(
        "half of the run is elementwise work on masks, a large part of it one operator by one",
        "account: elementwise; TDY403",
        {"TDY403": _BY_HAND, "TDY301": _READ, "TDY408": _GROWS},
    ),
    "sam_null_comments_only/after": Judged(
        "half of the run is elementwise work on masks, a large part of it one operator by one",
        "account: elementwise; TDY403",
        {"TDY403": _BY_HAND, "TDY301": f"{_READ}; and {_MASKS}", "TDY408": _GROWS},
    ),
}

_INPUT = "TDY101, as info: workers may take as long to hand over so small batches"

_ADAM = "a quarter of the step or more; of small tensors the fused op takes 12 to 33 % of that"
RECORDED = {
    "all_patterns": Judged(
        "batches are fetched in the step; Adam updates one tensor at a time",
        f"{_INPUT}; TDY601, as info, as on any CPU",
    ),
    "all_patterns_noshapes": Judged("the same", "TDY101 and TDY601, as info"),
    "all_patterns_nostack": Judged("the same", "TDY601; TDY101, as info", {"TDY601": _ADAM}),
    "big_50mb": Judged(
        "AdamW updates one tensor at a time, a quarter of each step; batches are fetched in it",
        f"TDY601, first; {_INPUT}",
        {"TDY601": _ADAM},
    ),
    "conv_bn_bias": Judged("a bias before each batch norm, which takes it off", "TDY701, as info"),
    "conv_bn_nobias": Judged("nothing", "no finding"),
    "conv_relu_bn_bias": Judged("nothing: there is a ReLU between", "no finding"),
    "dataloader_sync": Judged("batches are fetched in the step, a quarter of it", _INPUT),
    "dataloader_workers2": Judged("nothing to mend: two workers load", "no finding"),
    "ddp_gloo_rank0": Judged(
        "it waits for the other rank, 86 % of the step",
        "account: waiting for another process; with the other rank's trace TDY902",
    ),
    "ddp_gloo_rank1": Judged(
        "it sleeps for 20 ms in each step, while the other rank waits",
        "TDY401",
        {"TDY401": "`sleep` takes 20.2 of 21.9 ms of a step"},
    ),
    "double_backward": Judged("nothing", "no finding"),
    "empty": Judged("nothing was run", "no finding"),
    "extracopy_dtype": Judged("nothing: a cast after a fill", "no finding"),
    "extracopy_to_cpu_copy": Judged("nothing: copies on the CPU, asked for", "no finding"),
    "forloop_index_9": Judged("nothing: nine rounds", "no finding"),
    "forloop_index_10": Judged(
        "a loop fills a tensor item by item",
        "TDY404",
        {"TDY404": "ten rounds of `select` and `fill_`, a quarter of the run"},
    ),
    "forloop_index_neg": Judged("nothing: it is one operation", "no finding"),
    "forloop_index_pos": Judged(
        "a loop fills a tensor item by item",
        "TDY404",
        {"TDY404": "a hundred rounds of `select` and `fill_`, two thirds of the run"},
    ),
    "item_loop": Judged(
        "nothing: `.item()` waits for nothing on a CPU",
        "TDY702, as info: what is evaluated keeps its graph",
    ),
    "item_once": Judged("nothing", "TDY702, as info: what is evaluated keeps its graph"),
    "mm_bf16_aligned": Judged("nothing", "no finding"),
    "mm_bf16_misaligned": Judged("bfloat16 products with odd sides", "TDY503, as info"),
    "mm_fp32": Judged("nothing: a CPU has no TF32", "no finding"),
    "odd_values": Judged("nothing", "no finding"),
    "oddname_nonascii": Judged("nothing", "no finding"),
    "oddname_quote": Judged("nothing; the file is no valid JSON, and is read", "no finding"),
    "opt_adam_foreach": Judged("nothing", "no finding"),
    "opt_adam_single": Judged("Adam updates one tensor at a time", "TDY601", {"TDY601": _ADAM}),
    "opt_sgd_default": Judged("SGD updates one tensor at a time", "TDY601, as info"),
    "opt_sgd_foreach": Judged("nothing", "no finding"),
    "opt_sgd_fused": Judged("nothing", "no finding"),
    "opt_sgd_single": Judged("SGD updates one tensor at a time", "TDY601, as info"),
    "record_function_ranges": Judged("nothing", "no finding"),
    "train_sched_bad_cycle0": Judged(
        "AdamW updates one tensor at a time, a quarter of each step; batches are fetched in it",
        f"{_INPUT}; TDY601, as info, as on any CPU",
    ),
    "train_sched_good_cycle0": Judged("nothing", "no finding"),
    "zerograd_false": Judged("gradients are filled with zeros", "TDY603, as info"),
    "zerograd_true": Judged("nothing", "no finding"),
}
