"""Where tidy and TorchTidy differ on the recorded traces, and why. All else must agree.

TorchTidy is what PyTorch 2.13 said of each of these runs while it ran. Both tables are complete: a
difference that is not listed fails a test, and so does a listed one that is gone.
"""

from __future__ import annotations

CODE_OF = {
    "ExtraCUDACopyPattern": "TDY201",
    "ForLoopIndexingPattern": "TDY404",
    "FP32MatMulPattern": "TDY501",
    "OptimizerSingleTensorPattern": "TDY601",
    "SynchronizedDataLoaderPattern": "TDY101",
    "GradNotSetToNonePattern": "TDY603",
    "Conv2dBiasFollowedByBatchNorm2dPattern": "TDY701",
    "MatMulDimInFP16Pattern": "TDY503",
}

# Codes of which nothing that TorchTidy says of a CPU run is wanted.
NEVER_ON_CPU = {
    "TDY501": "TorchTidy asks the build for its architectures; a CPU build lists none, and all of "
    "none have TF32. No CPU has.",
    "TDY201": "nothing was moved to a device: `.to('cpu', copy=True)`",
}

# (trace, code): (matches of TorchTidy that tidy does not report, why)
MISSED = {
    ("all_patterns_nostack", "TDY404"): (
        4,
        "the data set's own indexing in the DataLoader's fetches, which without stacks looks like "
        "a loop to TorchTidy; with stacks it does not report it either",
    ),
}

_EACH_FETCH = "each fetch counts, also those of an iterator that was made before the window"
_WITHOUT_STACKS = "TorchTidy needs Python stacks for it; the profiler's ranges and the ops tell too"
_FLOPS = (
    "with_flops=True records shapes too, whatever record_shapes says; TorchTidy looks at the option"
)

# (trace, code): (matches beyond TorchTidy's, why)
BEYOND = {
    ("all_patterns", "TDY101"): (5, _EACH_FETCH),
    ("all_patterns_noshapes", "TDY101"): (5, _EACH_FETCH),
    ("all_patterns_noshapes", "TDY503"): (1, _FLOPS),
    ("all_patterns_noshapes", "TDY701"): (4, _FLOPS),
    ("all_patterns_nostack", "TDY101"): (5, _EACH_FETCH),
    ("all_patterns_nostack", "TDY503"): (1, _WITHOUT_STACKS),
    ("all_patterns_nostack", "TDY601"): (4, _WITHOUT_STACKS),
    ("all_patterns_nostack", "TDY603"): (3, _WITHOUT_STACKS),
    ("all_patterns_nostack", "TDY701"): (4, _WITHOUT_STACKS),
    ("big_50mb", "TDY101"): (100, _EACH_FETCH),
    ("dataloader_sync", "TDY101"): (5, _EACH_FETCH),
    ("forloop_index_10", "TDY404"): (
        1,
        "ten rounds: TorchTidy counts the rounds after the first, and so nine",
    ),
    ("train_sched_bad_cycle0", "TDY101"): (3, _EACH_FETCH),
}
