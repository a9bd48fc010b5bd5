"""Datasets, samplers and the loader of batches: torch.utils.data.

Where to read first: dataloader.py (who hands out what), then worker.py (the other process).
"""

# ruff: noqa: F401, I001

from .dataloader import DataLoader
from .dataset import BatchSampler, ConcatDataset, Dataset, DistributedSampler
from .dataset import IterableDataset, RandomSampler, Sampler, SequentialSampler, Subset
from .dataset import SubsetRandomSampler, TensorDataset, WeightedRandomSampler, default_collate
from .dataset import default_convert, random_split
from .worker import get_worker_info

__all__ = [name for name, x in globals().items() if hasattr(x, "__module__") and name[0] != "_"]
