"""A profiler that advises as it starts, as PyTorch 2.11's does: the script starts none."""

import training

if training.torch.__name__ == "torch":  # tidy.runtime has none that advises
    from torch.profiler import profiler as module

    start = module.profile.start

    def start_with_advice(self):
        module._warn_once("keep events of earlier cycles")
        start(self)

    module.profile.start = start_with_advice

training.steps(12)
print("done")
