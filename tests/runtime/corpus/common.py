"""What many scripts of the corpus need: tensors of numpy's arrays, batches, losses of epochs."""

from pathlib import Path

import numpy as np

TEXT = Path(__file__).with_name("text.txt")
# Which strokes of a digital clock each digit has, and the pixels of each stroke: top, upper left,
# upper right, middle, lower left, lower right, bottom.
SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010"]
SEGMENTS += ["1101011", "1101111", "1010010", "1111111", "1111011"]
PIXELS = [(0, slice(1, 7)), (slice(0, 4), 1), (slice(0, 4), 6), (3, slice(1, 7))]
PIXELS += [(slice(3, 8), 1), (slice(3, 8), 6), (7, slice(1, 7))]


def floats(torch, array):
    """The array as a tensor of the default dtype."""
    return torch.tensor(np.asarray(array), dtype=torch.get_default_dtype())


def batches(torch, arrays, size, seed=0, **options):
    """Batches of a loader without end; each epoch has an order of its own, made by numpy."""
    data = torch.utils.data
    tensors = [floats(torch, a) if a.dtype.kind == "f" else torch.tensor(a) for a in arrays]
    order = np.random.default_rng(seed)

    class Shuffled(data.Sampler):
        def __iter__(self):
            return iter(order.permutation(len(tensors[0])).tolist())

        def __len__(self):
            return len(tensors[0])

    loader = data.DataLoader(
        data.TensorDataset(*tensors), batch_size=size, sampler=Shuffled(), drop_last=True, **options
    )
    while True:
        yield from loader


def dropout(torch, module_base, stream, p=0.5):
    """A Dropout layer whose masks are numpy's, so that both runtimes drop the same."""

    class Dropout(module_base):
        def forward(self, x):
            if not self.training:
                return x
            return x * floats(torch, (stream.random(tuple(x.shape)) >= p) / (1 - p))

    return Dropout()


def blobs(stream, classes, count, width, spread=1.0):
    """Points around a centre per class: `(count, width)`, and the class of each."""
    which = stream.integers(0, classes, count)
    return stream.normal(size=(classes, width))[which] * 2 + spread * stream.normal(
        size=(count, width)
    ), which


def shapes(stream, count, size=8):
    """Images `(count, 1, size, size)` of bars, frames or crosses with noise, and which they are."""
    which = stream.integers(0, 3, count)
    images = np.zeros((count, 1, size, size))
    for image, kind in zip(images, which, strict=True):
        top, left = stream.integers(0, size - 5, 2)
        part = image[0, top : top + 5, left : left + 5]
        if kind == 0:
            part[:, 1:3] = 1
        elif kind == 1:
            part[:] = 1
            part[1:-1, 1:-1] = 0
        else:
            part[2], part[:, 2] = 1, 1
    return images + stream.normal(size=images.shape) * 0.1, which


def moons(stream, count):
    """Two half circles that reach into each other: points `(count, 2)` and which they belong to."""
    which = np.arange(count) % 2
    angle = stream.uniform(0, np.pi, count)
    points = np.stack([np.cos(angle), np.sin(angle)], 1)
    points[which == 1] = [1.0, 0.5] - points[which == 1]
    return points + stream.normal(size=points.shape) * 0.1, which


def digits(stream, count):
    """Images `(count, 1, 8, 8)` of clock digits with noise, and which digits they are."""
    which = stream.integers(0, 10, count)
    images = np.zeros((count, 1, 8, 8))
    for image, digit in zip(images, which, strict=True):
        for lit, pixels in zip(SEGMENTS[digit], PIXELS, strict=True):
            if lit == "1":
                image[0][pixels] = 1.0
    return images + stream.normal(size=images.shape) * 0.2, which


def stepped(loss, *stepping, clip=lambda: None):
    """The loss as a number, after a step of optimizers and schedulers; `clip()` comes before it."""
    for one in stepping:
        if hasattr(one, "zero_grad"):
            one.zero_grad()
    loss.backward()
    clip()
    for one in stepping:
        one.step()
    return loss.item()
