"""Training on several modelled devices. Source: torch/nn/parallel, torch/csrc/distributed/c10d."""
