"""Three small trainings, written once for both runtimes.

Each function takes `torch`, which is PyTorch or `tidy.runtime`, and gives the losses of 50 steps.
Data and first weights come from numpy, all in float64, so that both begin alike.
"""

from pathlib import Path

import numpy as np

STEPS = 50
TEXT = Path(__file__).with_name("text.txt")

# Which strokes of a digital clock each digit has, and the pixels of each stroke: top, upper left,
# upper right, middle, lower left, lower right, bottom.
SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010"]
SEGMENTS += ["1101011", "1101111", "1010010", "1111111", "1111011"]
PIXELS = [(0, slice(1, 7)), (slice(0, 4), 1), (slice(0, 4), 6), (3, slice(1, 7))]
PIXELS += [(slice(3, 8), 1), (slice(3, 8), 6), (7, slice(1, 7))]


def parameters(torch, stream, **shapes):
    """Tensors `(out, in, ...)` with a variance that keeps activations in range; 1-d ones are 0."""
    found = {}
    for name, shape in shapes.items():
        scale = 0.0 if len(shape) == 1 else 1 / np.sqrt(np.prod(shape[1:]))
        array = stream.normal(size=shape) * scale
        found[name] = torch.tensor(array, dtype=torch.float64, requires_grad=True)
    return found


class SGD:
    """Steps against the gradient, with momentum."""

    def __init__(self, torch, parameters, lr, momentum=0.9):
        self.torch, self.parameters, self.lr, self.momentum = torch, parameters, lr, momentum
        self.velocity = [torch.zeros_like(p) for p in parameters]

    def step(self):
        with self.torch.no_grad():
            for p, v in zip(self.parameters, self.velocity, strict=True):
                v.mul_(self.momentum).add_(p.grad)
                p.sub_(v * self.lr)
                p.grad = None


class Adam:
    """Steps by the gradient's mean over the root of its mean square."""

    def __init__(self, torch, parameters, lr, betas=(0.9, 0.999), eps=1e-8):
        self.torch, self.parameters, self.lr, self.betas, self.eps = (
            torch,
            parameters,
            lr,
            betas,
            eps,
        )
        self.means = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        self.steps = 0

    def step(self):
        self.steps += 1
        first, second = self.betas
        with self.torch.no_grad():
            for p, (mean, square) in zip(self.parameters, self.means, strict=True):
                mean.mul_(first).add_(p.grad * (1 - first))
                square.mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                root = (square / (1 - second**self.steps)).sqrt().add_(self.eps)
                p.addcdiv_(mean, root, value=-self.lr / (1 - first**self.steps))
                p.grad = None


def train(optimizer, loss_at):
    """The losses of STEPS steps; `loss_at(step)` makes one."""
    losses = []
    for step in range(STEPS):
        loss = loss_at(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def moons(stream, count):
    """Two half circles that reach into each other: points `(count, 2)` and which they belong to."""
    which = np.arange(count) % 2
    angle = stream.uniform(0, np.pi, count)
    points = np.stack([np.cos(angle), np.sin(angle)], 1)
    points[which == 1] = [1.0, 0.5] - points[which == 1]
    return points + stream.normal(size=points.shape) * 0.1, which


def mlp(torch):
    """Two moons: two hidden layers, tanh and relu, all points in each step, SGD."""
    F = torch.nn.functional  # noqa: N806
    stream = np.random.default_rng(1)
    points, which = moons(stream, 100)
    x, y = torch.tensor(points), torch.tensor(which)
    p = parameters(torch, stream, w1=(16, 2), b1=(16,), w2=(16, 16), b2=(16,), w3=(2, 16), b3=(2,))

    def loss_at(step):
        hidden = torch.tanh(F.linear(x, p["w1"], p["b1"]))
        hidden = F.relu(F.linear(hidden, p["w2"], p["b2"]))
        return F.cross_entropy(F.linear(hidden, p["w3"], p["b3"]), y)

    return train(SGD(torch, list(p.values()), lr=0.1), loss_at)


def digits(stream, count):
    """Images `(count, 1, 8, 8)` of clock digits with noise, and which digits they are."""
    which = stream.integers(0, 10, count)
    images = np.zeros((count, 1, 8, 8))
    for image, digit in zip(images, which, strict=True):
        for lit, pixels in zip(SEGMENTS[digit], PIXELS, strict=True):
            if lit == "1":
                image[0][pixels] = 1.0
    return images + stream.normal(size=images.shape) * 0.2, which


def cnn(torch):
    """Digits: two convolutions with relu and pooling, one linear layer, batches of 32, Adam."""
    F = torch.nn.functional  # noqa: N806
    stream = np.random.default_rng(2)
    images, which = digits(stream, 160)
    shapes = {"w1": (6, 1, 3, 3), "b1": (6,), "w2": (8, 6, 3, 3), "b2": (8,)}
    p = parameters(torch, stream, **shapes, w3=(10, 32), b3=(10,))

    def loss_at(step):
        rows = np.arange(step * 32, step * 32 + 32) % len(which)
        x, y = torch.tensor(images[rows]), torch.tensor(which[rows])
        x = F.max_pool2d(F.relu(F.conv2d(x, p["w1"], p["b1"], padding=1)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, p["w2"], p["b2"], padding=1)), 2)
        return F.cross_entropy(F.linear(x.flatten(1), p["w3"], p["b3"]), y)

    return train(Adam(torch, list(p.values()), lr=0.01), loss_at)


def transformer(torch, width=32, heads=2, length=24, batch=8):
    """The next character of a text: two blocks of causal attention and a GELU layer, Adam."""
    F = torch.nn.functional  # noqa: N806
    stream = np.random.default_rng(3)
    text = TEXT.read_text("utf-8")
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(character) for character in text])
    shapes = {"letters": (len(alphabet), width), "places": (length, width)}
    for n in range(2):
        shapes |= {f"qkv{n}": (3 * width, width), f"out{n}": (width, width)}
        shapes |= {f"up{n}": (2 * width, width), f"up_bias{n}": (2 * width,)}
        shapes |= {f"down{n}": (width, 2 * width), f"down_bias{n}": (width,)}
    p = parameters(torch, stream, **shapes)
    norms = [
        (
            torch.ones(width, dtype=torch.float64, requires_grad=True),
            torch.zeros(width, dtype=torch.float64, requires_grad=True),
        )
        for _ in range(5)
    ]

    def norm(x, which):
        return F.layer_norm(x, (width,), *norms[which])

    def attend(x, n):
        parts = F.linear(x, p[f"qkv{n}"]).reshape(batch, length, 3, heads, width // heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(found.transpose(1, 2).reshape(batch, length, width), p[f"out{n}"])

    def loss_at(step):
        starts = stream.integers(0, len(codes) - length - 1, batch)
        rows = codes[starts[:, None] + np.arange(length + 1)]
        x = F.embedding(torch.tensor(rows[:, :-1]), p["letters"]) + p["places"]
        for n in range(2):
            x = x + attend(norm(x, 2 * n), n)
            hidden = F.gelu(F.linear(norm(x, 2 * n + 1), p[f"up{n}"], p[f"up_bias{n}"]))
            x = x + F.linear(hidden, p[f"down{n}"], p[f"down_bias{n}"])
        scores = F.linear(norm(x, 4), p["letters"])  # the embedding serves twice
        return F.cross_entropy(
            scores.reshape(batch * length, -1), torch.tensor(rows[:, 1:].ravel())
        )

    every = [*p.values(), *(q for pair in norms for q in pair)]
    return train(Adam(torch, every, lr=0.01), loss_at)


MODELS = [mlp, cnn, transformer]
