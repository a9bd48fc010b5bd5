"""Embeddings that are near or far, recommendations, and few examples of a class."""

import numpy as np

from .common import batches, blobs, floats, shapes, stepped


def siamese(torch, nn, F):
    """One net looks at both images; pairs alike come together, others to a margin."""
    stream = np.random.default_rng(120)
    images, kinds = shapes(stream, 60)

    class Siamese(nn.Module):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(
                nn.Conv2d(1, 6, 3), nn.RReLU(0.2, 0.2), nn.MaxPool2d(2), nn.Flatten()
            )
            self.fc = nn.Sequential(nn.Linear(54, 16), nn.Sigmoid(), nn.Linear(16, 4))

        def forward(self, *both):
            return tuple(self.fc(self.cnn(x)) for x in both)

    net = Siamese()
    optimizer = torch.optim.Rprop(net.parameters(), lr=1e-3, step_sizes=(1e-6, 0.005))
    x = floats(torch, images)
    one, two = stream.integers(0, 60, (2, 48))
    differ = floats(torch, kinds[one] != kinds[two])
    yield [net]
    while True:
        a, b = net(x[torch.tensor(one)], x[torch.tensor(two)])
        distance = F.pairwise_distance(a, b)
        loss = torch.mean(
            (1 - differ) * distance.pow(2) + differ * torch.clamp(1.0 - distance, min=0.0).pow(2)
        )
        yield stepped(loss, optimizer)


def hard_triplets(torch, nn, F):
    """The farthest of a class and the nearest of the others are mined in each batch."""
    points, labels = blobs(np.random.default_rng(121), 4, 96, 8, spread=2.0)
    net = nn.Sequential(nn.Linear(8, 24), nn.PReLU(24), nn.Linear(24, 6))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, maximize=False)
    yield [net]
    for x, y in batches(torch, [points, labels], 32):
        z = net(x)
        gram = z @ z.t()
        square = torch.diagonal(gram)
        distance = (square[:, None] - 2 * gram + square[None]).clamp_min(1e-9).sqrt()
        same = y[:, None] == y[None]
        farthest = distance.masked_fill(~same, -np.inf).max(dim=1).values
        nearest = distance.masked_fill(same, np.inf).amin(dim=1)
        yield stepped(torch.relu(farthest - nearest + 1.0).mean(), optimizer)


def contrasted_views(torch, nn, F):
    """SimCLR: two views of each image find each other among all, at a temperature."""
    stream = np.random.default_rng(122)
    images = shapes(stream, 64)[0]
    encoder = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
    )
    head = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    model = nn.Sequential(encoder, head)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
    yield [model]

    def view(x):
        x = torch.flip(x, dims=[3]) if stream.random() < 0.2 else x
        x = torch.roll(x, shifts=(0, int(stream.integers(0, 2))), dims=(2, 3))
        noise = floats(torch, stream.normal(size=tuple(x.shape)) * 0.05)
        return x * float(stream.uniform(0.8, 1.2)) + noise

    for (x,) in batches(torch, [images], 16):
        z = F.normalize(model(torch.cat([view(x), view(x)])), dim=1)
        similarity = z @ z.T / 0.5
        similarity = similarity.masked_fill(torch.eye(32, dtype=torch.bool), float("-inf"))
        labels = (torch.arange(32) + 16) % 32
        yield stepped(F.cross_entropy(similarity, labels), optimizer, scheduler)


def angles_with_margin(torch, nn, F):
    """ArcFace: classes are directions, and the true one is made harder by an angle."""
    points, labels = blobs(np.random.default_rng(123), 5, 80, 6)

    class ArcMargin(nn.Module):
        def __init__(self, inputs, classes, scale=8.0, margin=0.3):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(classes, inputs))
            nn.init.xavier_uniform_(self.weight)
            self.scale, self.margin = scale, margin

        def forward(self, x, label):
            cosine = F.linear(F.normalize(x), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
            harder = torch.cos(torch.acos(cosine) + self.margin)
            where = torch.zeros_like(cosine).scatter_(1, label.view(-1, 1), 1).bool()
            return self.scale * torch.where(where, harder, cosine)

    body = nn.Sequential(nn.Linear(6, 16), nn.Hardswish(), nn.Linear(16, 8))
    margin = ArcMargin(8, 5)
    optimizer = torch.optim.SGD(
        [{"params": body.parameters(), "weight_decay": 1e-3}, {"params": margin.parameters()}],
        lr=0.05, momentum=0.9, nesterov=True,
    )  # fmt: skip
    yield [body, margin]
    for x, y in batches(torch, [points, labels], 20):
        yield stepped(F.cross_entropy(margin(body(x), y), y), optimizer)


def prototypes(torch, nn, F):
    """Each episode has new classes; queries go to the nearest mean of a few examples."""
    stream = np.random.default_rng(124)
    mixing = stream.normal(size=(4, 12))
    net = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    yield [net]
    while True:
        centres = stream.normal(size=(5, 1, 4)) * 1.5
        points = (centres + stream.normal(size=(5, 8, 4))) @ mixing
        points = points + stream.normal(size=points.shape) * 2
        z = net(floats(torch, points))
        support, query = z.tensor_split([3], dim=1)
        distance = torch.cdist(query.flatten(0, 1), support.mean(1)).square()
        told = torch.log_softmax(-distance, dim=1).unflatten(0, (5, 5))
        which = torch.arange(5).view(5, 1, 1).expand(5, 5, 1)
        yield stepped(-told.gather(2, which).mean(), optimizer)


def factorised_ratings(torch, nn, F):
    """Users and items as vectors with biases, by SGD with decay."""
    stream = np.random.default_rng(125)
    users, items = stream.integers(0, 30, 300), stream.integers(0, 20, 300)
    tastes, kinds = stream.normal(size=(30, 3)), stream.normal(size=(20, 3))
    ratings = 3 + (tastes[users] * kinds[items]).sum(1) * 0.5 + stream.normal(size=300) * 0.1

    class MatrixFactorization(nn.Module):
        def __init__(self, factors=4):
            super().__init__()
            self.user_factors = nn.Embedding(30, factors)
            self.item_factors = nn.Embedding(20, factors)
            self.user_biases, self.item_biases = nn.Embedding(30, 1), nn.Embedding(20, 1)

        def forward(self, user, item):
            pred = self.user_biases(user) + self.item_biases(item)
            return (
                pred + (self.user_factors(user) * self.item_factors(item)).sum(1, True)
            ).squeeze()

    model = MatrixFactorization()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=1e-4)
    loss_of = nn.MSELoss()
    yield [model]
    for user, item, rating in batches(torch, [users, items, ratings], 50):
        yield stepped(loss_of(model(user, item), rating), optimizer)


def clicks_from_bags(torch, nn, F):
    """DLRM: bags of categories, dense features, all products of pairs; Adagrad on sparse rows."""
    stream = np.random.default_rng(126)

    class DLRM(nn.Module):
        def __init__(self, width=6):
            super().__init__()
            self.bags = nn.ModuleList(
                nn.EmbeddingBag(n, width, mode="sum", sparse=True) for n in (20, 30)
            )
            self.bottom = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, width))
            self.top = nn.Sequential(nn.Linear(width + 3, 12), nn.ReLU(), nn.Linear(12, 1))

        def forward(self, dense, offsets, indices):
            x = self.bottom(dense)
            found = [bag(i, o) for bag, i, o in zip(self.bags, indices, offsets, strict=True)]
            every = torch.stack([x, *found], dim=1)
            products = torch.bmm(every, every.transpose(1, 2))
            li, lj = torch.tril_indices(3, 3, offset=-1)
            return self.top(torch.cat([x, products[:, li, lj]], dim=1)).squeeze(1)

    model = DLRM()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    loss_of = nn.BCEWithLogitsLoss()
    yield [model]
    while True:
        dense = stream.normal(size=(24, 4))
        sizes = stream.integers(1, 4, (2, 24))
        indices = [stream.integers(0, n, s.sum()) for n, s in zip((20, 30), sizes, strict=True)]
        offsets = np.cumsum(sizes, 1) - sizes
        clicked = (dense[:, 0] + (indices[0][offsets[0]] < 10) > 0.5).astype(float)
        said = model(
            floats(torch, dense), torch.tensor(offsets), [torch.tensor(i) for i in indices]
        )
        yield stepped(loss_of(said, floats(torch, clicked)), optimizer)


def wide_and_deep(torch, nn, F):
    """Crossed columns for what is remembered, a deep net for the rest, a factorisation between."""
    stream = np.random.default_rng(127)
    fields = stream.integers(0, 6, (200, 3))
    numbers = stream.normal(size=(200, 4))
    bought = ((fields[:, 0] == fields[:, 1]) | (numbers[:, 0] > 0.8)).astype(float)

    class WideAndDeep(nn.Module):
        def __init__(self, width=5):
            super().__init__()
            self.wide = nn.Embedding(36, 1)
            self.fields = nn.ModuleList(nn.Embedding(6, width) for _ in range(3))
            self.deep = nn.Sequential(
                nn.Linear(3 * width + 4, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Linear(16, 1)
            )

        def forward(self, fields, numbers):
            crossed = fields[:, 0] * 6 + fields[:, 1]
            each = torch.stack(
                [e(f) for e, f in zip(self.fields, fields.unbind(1), strict=True)], 1
            )
            pairs = 0.5 * (each.sum(1).square() - each.square().sum(1)).sum(1, keepdim=True)
            deep = self.deep(torch.cat([each.flatten(1), numbers], dim=1))
            return (self.wide(crossed) + pairs + deep).squeeze(1)

    model = WideAndDeep()
    wide = list(model.wide.parameters())
    deep = [p for name, p in model.named_parameters() if not name.startswith("wide")]
    optimizers = [torch.optim.Adagrad(wide, lr=0.1), torch.optim.Adam(deep, lr=5e-3)]
    yield [model]
    for x, n, y in batches(torch, [fields, numbers, bought], 40):
        yield stepped(F.binary_cross_entropy_with_logits(model(x, n), y), *optimizers)
