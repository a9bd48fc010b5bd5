"""Classifiers of images and their training loops: loaders, schedules, frozen layers."""

import numpy as np

from .common import batches, blobs, digits, dropout, floats, shapes, stepped


def digits_with_dropout(torch, nn, F):
    """Log-probabilities, dropout, Adadelta with a falling rate, and tests in between."""
    stream = np.random.default_rng(21)
    images, labels = digits(stream, 128)
    test_images, test_labels = digits(stream, 40)
    data, target_test = floats(torch, test_images), torch.tensor(test_labels)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3, 1)
            self.conv2 = nn.Conv2d(8, 12, 3, 1)
            self.dropout1 = dropout(torch, nn.Module, stream, 0.25)
            self.dropout2 = dropout(torch, nn.Module, stream, 0.5)
            self.fc1 = nn.Linear(48, 32)
            self.fc2 = nn.Linear(32, 10)

        def forward(self, x):
            x = F.relu(self.conv2(F.relu(self.conv1(x))))
            x = self.dropout1(F.max_pool2d(x, 2)).flatten(1)
            return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)

    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    yield [model]
    for index, (x, y) in enumerate(batches(torch, [images, labels], 32)):
        model.train()
        told = stepped(F.nll_loss(model(x), y), optimizer)
        if index % 8 == 7:
            scheduler.step()
            model.eval()
            with torch.no_grad():
                output = model(data)
                told = F.nll_loss(output, target_test, reduction="sum").item() / len(data)
                correct = output.argmax(dim=1, keepdim=True).eq(target_test.view(-1, 1)).sum()
            told += 1 - correct.item() / len(data)
        yield told


def transfer_by_freezing(torch, nn, F):
    """A body learned on one task is frozen, and a new head on it learns another."""
    stream = np.random.default_rng(22)
    images, kinds = shapes(stream, 90)
    _, sides = np.unique(images[:, 0].sum(2).argmax(1) > 3, return_inverse=True)
    x = floats(torch, images)
    body = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.AvgPool2d(2), nn.Flatten(),
    )  # fmt: skip
    model = nn.Sequential(body, nn.Linear(128, 3))
    new_head = nn.Linear(128, 2)
    criterion = nn.CrossEntropyLoss()
    yield [model, new_head]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for labels, steps in ((kinds, 25), (sides, 200)):
        target = torch.tensor(labels)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
        for _ in range(steps):
            yield stepped(criterion(model(x), target), optimizer, scheduler)
        for p in model.parameters():
            p.requires_grad = False
        model[1] = new_head
        body.eval()
        learned = [p for p in model.parameters() if p.requires_grad]
        assert len(learned) == 2
        optimizer = torch.optim.SGD(learned, lr=0.02, momentum=0.9, nesterov=True)


def distilled(torch, nn, F):
    """A small net learns from the softened answers of a larger one."""
    points, labels = blobs(np.random.default_rng(23), 5, 96, 10, spread=2.0)
    teacher = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
    teacher.append(nn.Linear(48, 5))
    student = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 5))
    loader = batches(torch, [points, labels], 32)
    yield [teacher, student]
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=1e-2)
    for _ in range(15):
        x, y = next(loader)
        stepped(F.cross_entropy(teacher(x), y), optimizer)
    teacher.eval().requires_grad_(False)
    optimizer = torch.optim.NAdam(student.parameters(), lr=1e-2)
    heat = 3.0
    for x, y in loader:
        with torch.inference_mode():
            told = teacher(x)
        soft = F.kl_div(
            F.log_softmax(student(x) / heat, dim=-1),
            F.log_softmax(told.clone() / heat, dim=-1),
            reduction="batchmean",
            log_target=True,
        )
        loss = heat**2 * 0.7 * soft + 0.3 * F.cross_entropy(student(x), y, label_smoothing=0.1)
        yield stepped(loss, optimizer)


def adversarial_examples(torch, nn, F):
    """Training on images moved against the classifier, by the sign of the input's gradient."""
    images, labels = shapes(np.random.default_rng(24), 96)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.GroupNorm(4, 8), nn.LeakyReLU(0.1),
        nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.ELU(), nn.Flatten(), nn.Linear(48, 3),
    )  # fmt: skip
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=100)
    yield [model]
    for x, y in batches(torch, [images, labels], 24):
        moved = x.clone().requires_grad_(True)
        F.cross_entropy(model(moved), y).backward()
        # The gradient, scaled per image, and not its sign: signs of gradients near zero differ.
        step = moved.grad / moved.grad.abs().amax(dim=(1, 2, 3), keepdim=True)
        moved = torch.clamp(x + 0.1 * step, -0.5, 1.5).detach()
        loss = 0.5 * (F.cross_entropy(model(x), y) + F.cross_entropy(model(moved), y))
        yield stepped(loss, optimizer, scheduler)


def domain_adversarial(torch, nn, F):
    """A gradient that is turned around makes features that two domains share."""
    stream = np.random.default_rng(25)
    points, labels = blobs(stream, 3, 64, 6)
    shifted = points @ np.linalg.qr(stream.normal(size=(6, 6)))[0] + 0.5

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.weight = weight
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.neg() * ctx.weight, None

    class DANN(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
            self.label = nn.Linear(16, 3)
            self.domain = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, x, weight):
            h = self.features(x)
            return self.label(h), self.domain(Reverse.apply(h, weight)).squeeze(-1)

    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    bce = nn.BCEWithLogitsLoss()
    yield [model]
    for k, (x, y, far) in enumerate(batches(torch, [points, labels, shifted], 32)):
        weight = 2 / (1 + np.exp(-k / 10)) - 1
        classes, near_domain = model(x, weight)
        _, far_domain = model(far, weight)
        told = bce(torch.cat([near_domain, far_domain]), torch.arange(64).ge(32).to(x.dtype))
        yield stepped(F.cross_entropy(classes, y) + told, optimizer)
