"""Sequences without alignment, sets, relations, ranks and survival: targets that are no class."""

import numpy as np

from .common import batches, blobs, digits, floats, shapes, stepped


def tones_without_alignment(torch, nn, F):
    """Speech in small: frames of tones, and the order of the tones; CTC finds where they are."""
    stream = np.random.default_rng(200)
    said = stream.integers(1, 4, (16, 3))
    frames = np.repeat(np.eye(4)[said], 4, axis=1) + stream.normal(size=(16, 12, 4)) * 0.1
    model = nn.Sequential(nn.Conv1d(4, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ctc = nn.CTCLoss(blank=0)
    yield [model]
    x, y = floats(torch, frames.transpose(0, 2, 1)), torch.tensor(said)
    while True:
        scores = model(x).permute(2, 0, 1).log_softmax(2)
        yield stepped(ctc(scores, y, (12,) * 16, (3,) * 16), optimizer)


def sharpened_digits(torch, nn, F):
    """Images of half the size become whole ones: channels are shuffled into pixels."""
    images = digits(np.random.default_rng(201), 48)[0]
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 4, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    yield [model]
    for (x,) in batches(torch, [images], 16):
        small = F.interpolate(x, scale_factor=0.5, mode="area")
        loss = F.l1_loss(F.pixel_shuffle(model(small), 2), x)
        clip = lambda: nn.utils.clip_grad_value_(model.parameters(), 0.5)  # noqa: E731
        yield stepped(loss, optimizer, clip=clip)


def related_entities(torch, nn, F):
    """TransE: head and relation lie near the tail, and not near an entity drawn by chance."""
    stream = np.random.default_rng(202)
    heads, relations = stream.integers(0, 30, 80), stream.integers(0, 4, 80)
    tails = (heads + relations + 1) % 30
    entities, between = nn.Embedding(30, 8), nn.Embedding(4, 8)
    optimizer = torch.optim.Adagrad([*entities.parameters(), *between.parameters()], lr=0.1)
    yield [entities, between]
    for h, r, t in batches(torch, [heads, relations, tails], 40):
        with torch.no_grad():
            entities.weight.div_(entities.weight.norm(dim=1, keepdim=True))
        moved = entities(h) + between(r)
        wrong = entities(torch.tensor(stream.integers(0, 30, 40)))
        near, far = (torch.norm(moved - x, p=1, dim=1) for x in (entities(t), wrong))
        loss = F.margin_ranking_loss(far, near, torch.ones(40), margin=1.0)
        yield stepped(loss, optimizer)


def clouds_of_points(torch, nn, F):
    """PointNet: each point on its own, then the greatest of all, in whatever order they come."""
    stream = np.random.default_rng(203)
    kinds = stream.integers(0, 2, 32)
    points = stream.normal(size=(32, 20, 3))
    points[kinds == 1] /= np.linalg.norm(points[kinds == 1], axis=2, keepdims=True)

    class PointNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.each = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
            self.whole = nn.Linear(16, 2)

        def forward(self, x):
            return self.whole(torch.max(self.each(x.transpose(1, 2)), 2)[0])

    model = PointNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    yield [model]
    for x, y in batches(torch, [points, kinds], 16):
        yield stepped(F.cross_entropy(model(x), y), optimizer)


def sums_of_sets(torch, nn, F):
    """Deep sets of several sizes: what is no element is masked before the sum."""
    stream = np.random.default_rng(204)
    sizes = stream.integers(2, 7, 40)
    present = np.arange(6) < sizes[:, None]
    values = stream.uniform(0, 1, (40, 6)) * present
    inner, outer = nn.Linear(1, 16), nn.Sequential(nn.ELU(), nn.Linear(16, 1))
    optimizer = torch.optim.RMSprop([*inner.parameters(), *outer.parameters()], lr=0.01)
    yield [inner, outer]
    for x, mask in batches(torch, [values, present.astype(float)], 20):
        summed = (inner(x.unsqueeze(-1)) * mask.unsqueeze(-1)).sum(1)
        loss = F.smooth_l1_loss(outer(summed).squeeze(-1), x.pow(2).sum(1))
        yield stepped(loss, optimizer)


def sentences_by_windows(torch, nn, F):
    """Filters of three widths over the words, and the greatest answer of each."""
    stream = np.random.default_rng(205)
    words, moods = stream.integers(2, 20, (48, 10)), stream.integers(0, 2, 48)
    words[np.arange(48), stream.integers(0, 10, 48)] = moods
    words_of = nn.Embedding(20, 8)
    widths = nn.ModuleList(nn.Conv1d(8, 4, width, padding=1) for width in (2, 3, 4))
    head = nn.Linear(12, 1)
    learned = nn.ModuleList([words_of, widths, head])
    optimizer = torch.optim.NAdam(learned.parameters(), lr=0.01)
    yield [learned]
    for x, y in batches(torch, [words, moods.astype(float)], 24):
        embedded = words_of(x).permute(0, 2, 1)
        found = [F.relu(conv(embedded)).amax(dim=2) for conv in widths]
        scores = head(torch.cat(found, 1)).squeeze(1)
        yield stepped(F.binary_cross_entropy_with_logits(scores, y), optimizer)


def mixed_images(torch, nn, F):
    """Two images and their labels are mixed by one share, and labels are smoothed."""
    stream = np.random.default_rng(206)
    images, kinds = shapes(stream, 48)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.SiLU(), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    yield [model]
    for x, y in batches(torch, [images, kinds], 24):
        share, order = float(stream.beta(0.4, 0.4)), torch.tensor(stream.permutation(24))
        scores = model(torch.lerp(x[order], x, share))
        loss = share * loss_of(scores, y) + (1 - share) * loss_of(scores, y[order])
        yield stepped(loss, optimizer)


def weights_made_by_a_net(torch, nn, F):
    """A hypernetwork: of each task's code it makes the weights of that task's net."""
    stream = np.random.default_rng(207)
    codes, x = floats(torch, np.eye(4)), floats(torch, stream.uniform(-1, 1, (24, 1)))
    slopes = floats(torch, stream.normal(size=4))
    maker = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8 + 8 + 8 + 1))
    optimizer = torch.optim.Adam(maker.parameters(), lr=0.01)
    yield [maker]
    while True:
        losses = []
        for code, slope in zip(codes, slopes, strict=True):
            first, bias, second, last = maker(code).split([8, 8, 8, 1])
            hidden = torch.tanh(F.linear(x, first.view(8, 1), bias))
            losses.append(F.mse_loss(F.linear(hidden, second.view(1, 8), last), slope * x))
        yield stepped(torch.stack(losses).mean(), optimizer)


def survival(torch, nn, F):
    """Cox: who dies has the greatest risk of all that are still alive; some are lost from sight."""
    stream = np.random.default_rng(208)
    x = stream.normal(size=(40, 5))
    times = stream.exponential(np.exp(-x[:, 0]))
    order = np.argsort(-times)
    seen = floats(torch, (stream.random(40) < 0.7)[order])
    model = nn.Sequential(nn.Linear(5, 8), nn.SELU(), nn.Linear(8, 1, bias=False))
    optimizer = torch.optim.Adamax(model.parameters(), lr=0.02, weight_decay=1e-3)
    people = floats(torch, x[order])
    yield [model]
    while True:
        risk = model(people).squeeze(1)
        loss = -((risk - risk.exp().cumsum(0).log()) * seen).sum() / seen.sum()
        yield stepped(loss, optimizer)


def ranked_lists(torch, nn, F):
    """ListNet: the order of a list's scores comes near that of its grades."""
    stream = np.random.default_rng(209)
    features = stream.normal(size=(20, 8, 6))
    grades = np.clip(np.round(features[..., 0] + 2), 0, 4)
    model = nn.Sequential(nn.Linear(6, 12), nn.LeakyReLU(0.1), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
    yield [model]
    for x, y in batches(torch, [features, grades], 10):
        scores = model(x).squeeze(-1)
        loss = F.kl_div(F.log_softmax(scores, 1), F.softmax(y, 1), reduction="batchmean")
        yield stepped(loss, optimizer)


def averaged_teacher(torch, nn, F):
    """Mean teacher: points without a label are to be seen as the average of past weights sees
    them.
    """
    stream = np.random.default_rng(210)
    points, kinds = blobs(stream, 3, 60, 4)
    student, teacher = (
        nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)) for _ in range(2)
    )
    teacher.load_state_dict(student.state_dict())
    teacher.requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    yield [student, teacher]
    for x, y in batches(torch, [points, kinds], 20):
        noisy = [x + floats(torch, stream.normal(size=(20, 4)) * 0.1) for _ in range(2)]
        seen, taught = student(noisy[0]), teacher(noisy[1])
        loss = F.cross_entropy(seen[:5], y[:5]) + F.mse_loss(seen.softmax(1), taught.softmax(1))
        value = stepped(loss, optimizer)
        with torch.no_grad():
            torch._foreach_lerp_([*teacher.parameters()], [*student.parameters()], 0.1)
        yield value
