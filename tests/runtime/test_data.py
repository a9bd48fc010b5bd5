"""Datasets, samplers and batches beside what test_golden.py compares with PyTorch's."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.data import (
    DataLoader,
    Dataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

from .observed import names_in

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
ROOT = Path(__file__).parents[2]


class Numbers(Dataset):
    """0 to `size`."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, key):
        return key


def values(loader):
    return [batch.tolist() for batch in loader]


def flat(loader):
    return [x for batch in values(loader) for x in batch]


def test_shuffle_is_a_permutation_that_the_seed_tells():
    data = list(range(50))

    def order(seed, workers=0):
        rt.manual_seed(seed)
        return flat(DataLoader(data, 4, shuffle=True, num_workers=workers))

    assert sorted(order(1)) == data
    assert order(1) == order(1) == order(1, workers=2)
    assert order(1) != order(2)
    own = rt.Generator().manual_seed(3)
    first = flat(DataLoader(data, 4, shuffle=True, generator=own))
    own.manual_seed(3)
    assert first == flat(DataLoader(data, 4, shuffle=True, generator=own))


def test_samplers_draw_what_they_promise():
    assert sorted(RandomSampler(range(5), num_samples=10)) == sorted([*range(5)] * 2)
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=70))
    assert len(drawn) == 70
    assert set(drawn) <= {0, 1, 2}
    assert sorted(SubsetRandomSampler("abc")) == ["a", "b", "c"]
    assert set(WeightedRandomSampler([0.0, 1.0, 3.0], 200)) == {1, 2}
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    often = Counter(WeightedRandomSampler([1, 9], 2000, generator=rt.Generator().manual_seed(0)))
    assert 1600 < often[1] < 2000
    for weights in ([1.0], [-1.0, 1.0, 1.0], [np.inf, 1.0], [0.0, 0.0]):
        with pytest.raises(RuntimeError, match="cannot draw"):
            list(WeightedRandomSampler(weights, 2, replacement=False))


def test_datasets_are_split():
    parts = random_split(range(10), [0.5, 0.3, 0.2])
    assert sorted(x for part in parts for x in part) == list(range(10))
    again = [random_split(range(9), [4, 5], rt.Generator().manual_seed(1)) for _ in range(2)]
    assert [list(s) for s in again[0]] == [list(s) for s in again[1]]


def test_datasets_that_fetch_at_once_or_grow_and_loaders_that_set_attributes_first():
    class Many(Numbers):
        def __getitems__(self, keys):
            return [-key for key in keys]

    assert values(DataLoader(Many(3), 2)) == [[0, -1], [-2]]
    data = [1, 2]
    loader = DataLoader(data, shuffle=True)
    assert len(flat(loader)) == len(loader) == 2
    data += [3, 4]
    assert sorted(flat(loader)) == [1, 2, 3, 4]

    class Own(DataLoader):
        def __init__(self, dataset):
            self.dataset = None
            super().__init__(dataset, 2)

    own = Own([1, 2, 3])
    assert values(own) == [[1, 2], [3]]
    for name in ("batch_size", "dataset", "drop_last", "sampler"):
        with pytest.raises(ValueError, match="should not be set"):
            setattr(own, name, 4)
    own.collate_fn = sum
    assert list(own) == [3, 3]


def test_batches_are_pinned_and_have_gradients():
    class Own:
        pinned = False

        def pin_memory(self):
            self.pinned = True
            return self

    loader = DataLoader([1, 2], 2, pin_memory=True, collate_fn=lambda s: (rt.tensor(s), Own()))
    ((tensor, own),) = loader
    assert tensor.is_pinned()
    assert own.pinned
    x = rt.ones(2, requires_grad=True)
    default_collate([x, x]).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_each_fetch_is_a_named_range():
    loaders = [DataLoader(range(4), 2, num_workers=number) for number in (0, 1)]
    seen = names_in(lambda: [list(loader) for loader in loaders])
    ranges = [name for name in seen if name.startswith("enumerate")]
    single = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    multi = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    assert ranges == [single] * 3 + [multi] * 3
    with pytest.raises(AssertionError, match="must be greater than 0"):
        iter(DataLoader(range(4), num_workers=1, prefetch_factor=0))
    with pytest.warns(UserWarning, match="will create 4096 worker processes"):
        DataLoader(range(4), num_workers=4096)


def test_importing_data_loads_nothing_heavy():
    heavy = "multiprocessing queue zipfile json numpy.random"
    code = (
        "import sys, tidy.runtime.data, tidy.runtime.serialization\n"
        f"print([m for m in {heavy!r}.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
