"""A profiler that advises as it starts, as PyTorch 2.11's does: the script starts none."""

import training

try:
    from torch.profiler import profiler as module
except ImportError:  # tidy.runtime has none that advises
    module = None

if module is not None:
    start = module.profile.start

    def start_with_advice(self):
        module._warn_once("keep events of earlier cycles")
        start(self)

    module.profile.start = start_with_advice

training.steps(12)
print("done")
