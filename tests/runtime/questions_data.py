"""Questions about loading data: batches, lengths, collation, samplers, and what is refused."""

# ruff: noqa: ARG005  (every source is a function of the library)

from collections import OrderedDict, deque, namedtuple

import numpy as np

from .tables import calls, named, options_of

Point = namedtuple("Point", "x y")


def described(value):
    """A batch as lists, words and tensors."""
    if hasattr(value, "detach"):
        return ["tensor", value.detach()]
    if isinstance(value, dict):
        return [type(value).__name__, [[k, described(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple, deque)):
        return [type(value).__name__, [described(v) for v in value]]
    return [type(value).__name__, str(value)]


def shards(torch, data):
    class Shards(data.IterableDataset):
        def __iter__(self):
            info = data.get_worker_info()
            start, step = (info.id, info.num_workers) if info else (0, 1)
            return iter(range(start, 11, step))

        def __len__(self):
            return 11

    return Shards()


def rows(torch, data):
    x = torch.arange(22).reshape(11, 2)
    return data.TensorDataset(x, x[:, 0] / 2)


SOURCES = {
    "list": lambda torch, data: list(range(11)), "rows": rows,
    "subset": lambda torch, data: data.Subset(rows(torch, data), [3, 1, 1, 9, 0]),
    "concat": lambda torch, data: data.ConcatDataset([[1, 2], [3], range(4, 9)]), "stream": shards,
}  # fmt: skip
WAYS = [
    {},
    *options_of("""
batch_size=4; batch_size=4, drop_last=True; batch_size=None; batch_size=3, num_workers=2
batch_size=3, num_workers=2, drop_last=True, prefetch_factor=1; batch_size=None, num_workers=1
batch_size=2, sampler=[4, 0, 2]; batch_sampler=[[1, 2], [0]]
batch_size=2, num_workers=2, multiprocessing_context='fork'
"""),
]
BAD = options_of("""
num_workers=-1; timeout=-1; timeout=1; prefetch_factor=2; prefetch_factor=-1, num_workers=1
persistent_workers=True; multiprocessing_context='fork'
multiprocessing_context='bogus', num_workers=1; shuffle=True, sampler=[1]
batch_sampler=[[1]], batch_size=2; batch_sampler=[[1]], shuffle=True
batch_sampler=[[1]], sampler=[1]; batch_sampler=[[1]], drop_last=True
batch_sampler=[[1]], batch_size=None; batch_size=None, drop_last=True; batch_size=0; batch_size=-3
batch_size=1.5; batch_size=True; drop_last=1; sampler=[1]; shuffle=True; shuffle=False; sampler=[99]
""")
# Samples of a batch, by name.
SAMPLES = named("""
tensors: [torch.ones(2), torch.zeros(2)]; other shapes: [torch.ones(2), torch.zeros(3)]
arrays: [np.ones((2, 1), np.float32)] * 2; bytes: [b"a", b"b"]; strings: ["a", "b"]
array of strings: [np.array("a")]; floats: [1.5, 2]; ints: [1, 2]; ints, then floats: [1, 2.5]
bools: [True, False]; float16: [np.float16(1), np.float16(2)]
float64: [np.float64(1), np.float64(2)]; int32: [np.int32(1), np.int32(2)]
numpy bool: [np.bool_(1)]; complex: [1j]; tuples: [(1, "a"), (2, "b")]; lists: [[1, 2.0], [3, 4.0]]
uneven: [[1], [1, 2]]; named: [Point(1, 2), Point(3, 4)]; deque: [deque([1, 2]), deque([3, 4])]
dict: [{"a": 1, "b": {"c": torch.ones(1)}}] * 3; ordered: [OrderedDict(b=1, a=2)] * 2
missing key: [{"a": 1}, {"b": 1}]; extra key: [{"a": 1}, {"a": 2, "b": 1}]; ranges: [range(3)] * 2
none: [None]; set: [{1}]; object: [Ellipsis]; empty: []; empty dict: [{}]
""")
CODES = calls("""
RandomSampler([1], replacement=1); RandomSampler([]); RandomSampler([1], num_samples=-1)
len(RandomSampler(range(3), num_samples=7)); len(SubsetRandomSampler([1, 5]))
WeightedRandomSampler([1, 2], 0); WeightedRandomSampler([1, 2], 1, replacement=1)
WeightedRandomSampler([[1, 2]], 1); list(WeightedRandomSampler([1., 0.], 2, replacement=False))
list(WeightedRandomSampler([-1., 1.], 2)); list(BatchSampler(range(7), 3, False))
list(BatchSampler(range(7), 3, True)); len(BatchSampler(range(7), 3, False))
BatchSampler(range(7), 3, 1); list(SequentialSampler('abc')); iter(Sampler())
[len(s) for s in random_split(range(10), [.33, .33, .34])]
[len(s) for s in random_split(range(2), [.4, .4, .2])]; random_split(range(10), [1.5, -.5])
random_split(range(10), [2, 3]); [len(s) for s in random_split(range(1), [1])]; ConcatDataset([])
ConcatDataset([[0, 1], [2]])[-3]; ConcatDataset([[0], [1]])[-3]
[*(TensorDataset(torch.arange(3)) + TensorDataset(torch.arange(2)))]
ConcatDataset([IterableDataset()]); Dataset()[0]; iter(IterableDataset())
list(DataLoader(IterableDataset())); get_worker_info(); TensorDataset(torch.ones(2), torch.ones(3))
""")


def loaded(torch, question):
    """The length of a loader, and its batches."""
    source, options = question
    data = torch.utils.data
    loader = data.DataLoader(SOURCES[source](torch, data), **options)
    return [len(loader), [described(batch) for batch in loader]]


def counted(torch, question):
    return len(loaded(torch, question)[1])


def collated(torch, name):
    return described(torch.utils.data.default_collate(_samples(torch, name)))


def converted(torch, name):
    return described(torch.utils.data.default_convert(_samples(torch, name))[:1])


def _samples(torch, name):
    classes = {"Point": Point, "OrderedDict": OrderedDict, "deque": deque}
    return eval(SAMPLES[name], classes | {"torch": torch, "np": np})  # noqa: S307


def evaluated(torch, code):
    return eval(code, vars(torch.utils.data) | {"torch": torch})  # noqa: S307


class Custom(Exception):
    pass


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


FAILURES = [ValueError("it"), KeyError("k"), Custom("c"), OSError(2, "x"), TwoArguments(1, 2)]


def failed(torch, error):
    """How a worker's error is told, and what comes after it."""

    def fail(samples):
        if samples == [1]:
            raise error
        return samples

    iterator = iter(torch.utils.data.DataLoader([0, 1, 2, 3], num_workers=2, collate_fn=fail))
    first = next(iterator)
    try:
        next(iterator)
    except (type(error), RuntimeError) as caught:
        lines = str(caught).splitlines()
        where = any(line.endswith(" in fail") for line in lines)
        return [first, type(caught).__name__, lines[:2], where, lines[-1], list(iterator)]


def informed(torch, dataset):
    """What workers know of themselves."""

    def look(samples):
        info = torch.utils.data.get_worker_info()
        return [info.id, info.num_workers, list(info.dataset)]

    return list(torch.utils.data.DataLoader(dataset, num_workers=2, collate_fn=look))


def outcome(torch, question):
    """What is answered, or the class of the error."""
    ask, given = question
    try:
        return ask(torch, given)
    except Exception as error:
        return type(error).__name__


DATA = {f"{source} {way}": (loaded, (source, way)) for source in SOURCES for way in WAYS}
DATA |= {
    f"{source} {options}": (counted, (source, options))
    for source in ("list", "stream")
    for options in BAD
}
DATA |= {f"collate {name}": (collated, name) for name in SAMPLES}
DATA |= {f"convert {name}": (converted, name) for name in SAMPLES}
DATA |= {code: (evaluated, code) for code in CODES}
DATA |= {f"a worker's {error!r}": (failed, error) for error in FAILURES}
DATA["workers' information"] = informed, [5, 6]
