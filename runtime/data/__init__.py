"""Datasets, samplers and the loader of batches: torch.utils.data.

Where to read first: dataloader.py (who hands out what), then worker.py (the other process).
"""

# ruff: noqa: F401

from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import get_worker_info
