"""The framework that a script here runs on: PyTorch, or with `--runtime` tidy.runtime."""

import os
import sys

if "--runtime" in sys.argv:
    from tidy import runtime as torch
    from tidy.runtime import nn
    from tidy.runtime.nn import functional as F
    from tidy.runtime.optim import optimizer as optimizers
    from tidy.runtime.utils.data import DataLoader, Dataset, TensorDataset
else:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.optim import optimizer as optimizers
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    torch.set_num_threads(1)

if "SHARES" in os.environ:
    from shares import watch

    DataLoader = watch(optimizers, DataLoader, os.environ["SHARES"])

torch.manual_seed(0)
__all__ = ["DataLoader", "Dataset", "F", "TensorDataset", "nn", "torch"]
