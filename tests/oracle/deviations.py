"""Where tidy and TorchTidy differ on the recorded traces, and why. All else must agree.

TorchTidy is what PyTorch 2.13 said of each of these runs while it ran. Both tables are complete: a
difference that is not listed fails a test, and so does a listed one that is gone. The traces with
dashes in their names, and `training_bad`, lie in tests/data/traces, the others in tests/data/packed
or beside the checkout.
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

_NO_FETCH = "to make an iterator is no fetch; those that follow are counted"

# (trace, code): (matches of TorchTidy that tidy does not report, why)
MISSED = {
    ("all_patterns", "TDY101"): (1, _NO_FETCH),
    ("all_patterns_noshapes", "TDY101"): (1, _NO_FETCH),
    ("big_50mb", "TDY101"): (1, _NO_FETCH),
    ("data-set", "TDY101"): (1, _NO_FETCH),
    ("dataloader_sync", "TDY101"): (1, _NO_FETCH),
    ("training_bad", "TDY101"): (1, _NO_FETCH),
    ("all_patterns_nostack", "TDY404"): (
        4,
        "the data set's own indexing in the DataLoader's fetches, which without stacks looks like "
        "a loop to TorchTidy; with stacks it does not report it either",
    ),
    ("data-set-no-stacks", "TDY404"): (
        4,
        "the data set's own indexing in the DataLoader's fetches, as above",
    ),
    ("list-of-tensors", "TDY404"): (1, "thirty tensors, each indexed once"),
    ("one-sample-a-step", "TDY404"): (1, "each round is a training step"),
}

_EACH_FETCH = "each fetch counts, also those of an iterator that was made before the window"
_WITHOUT_STACKS = "TorchTidy needs Python stacks for it; the profiler's ranges and the ops tell too"
_FLOPS = (
    "with_flops=True records shapes too, whatever record_shapes says; TorchTidy looks at the option"
)

_OTHER_LOOPS = (
    "TorchTidy knows loops whose rounds are one indexing and the same ops after it, side by side: "
    "not rounds with two indexings, nor those whose indexing is in a function"
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
    ("Adam-single-no-stacks", "TDY601"): (3, _WITHOUT_STACKS),
    ("copy-plus-one", "TDY404"): (1, _OTHER_LOOPS),
    ("helper", "TDY404"): (1, _OTHER_LOOPS),
    ("nested-chain", "TDY404"): (1, _OTHER_LOOPS),
    ("data-set", "TDY101"): (5, _EACH_FETCH),
    ("data-set-no-stacks", "TDY101"): (5, _WITHOUT_STACKS),
    ("iterator-before", "TDY101"): (5, _EACH_FETCH),
    ("functional", "TDY701"): (2, "TorchTidy knows modules alone; these are functions"),
    ("functional-no-stacks", "TDY701"): (2, _WITHOUT_STACKS),
    ("optimizer-zeros-foreach-no-stacks", "TDY603"): (2, _WITHOUT_STACKS),
    ("training_bad", "TDY101"): (4, _EACH_FETCH),
}
