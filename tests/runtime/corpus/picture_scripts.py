"""Images that are warped, searched for objects, painted in a style, or written as functions."""

import numpy as np

from .common import batches, floats, shapes, stepped


def straightened(torch, nn, F):
    """A spatial transformer turns its input before it classifies; rotations come from numpy."""
    stream = np.random.default_rng(140)
    images, labels = shapes(stream, 60, 10)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.localization = nn.Sequential(
                nn.Conv2d(1, 4, 3), nn.MaxPool2d(2, stride=2), nn.ReLU(True), nn.Flatten()
            )
            self.fc_loc = nn.Sequential(nn.Linear(64, 12), nn.ReLU(True), nn.Linear(12, 6))
            self.fc_loc[2].weight.data.zero_()
            self.fc_loc[2].bias.data.copy_(torch.tensor([0.9, 0.02, 0.01, -0.02, 0.9, 0.03]))
            self.head = nn.Sequential(nn.Conv2d(1, 6, 3, 2), nn.Tanh(), nn.Flatten())
            self.fc = nn.Linear(96, 3)

        def forward(self, x):
            theta = self.fc_loc(self.localization(x)).view(-1, 2, 3)
            x = F.grid_sample(
                x, F.affine_grid(theta, x.size(), align_corners=True), align_corners=True
            )
            return self.fc(self.head(x))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)
    yield [net]
    for x, y in batches(torch, [images, labels], 20):
        angle = stream.uniform(-0.3, 0.3, 20)
        turn = np.stack(
            [np.cos(angle), -np.sin(angle), 0 * angle, np.sin(angle), np.cos(angle), 0 * angle]
        )
        grid = F.affine_grid(floats(torch, turn.T.reshape(20, 2, 3)), x.size(), align_corners=False)
        with torch.no_grad():
            seen = F.grid_sample(x, grid, mode="nearest", padding_mode="zeros", align_corners=False)
        yield stepped(F.cross_entropy(net(seen), y), optimizer)


def detected_boxes(torch, nn, F):
    """Anchors are matched to a box by overlap; classes and offsets are learned on the matches."""
    stream = np.random.default_rng(141)
    centre = (torch.arange(4) + 0.5).repeat(4, 1) * 3
    anchors = torch.stack([centre.flatten(), centre.t().flatten()], 1)
    anchors = torch.cat([anchors - 2.5, anchors + 2.5], dim=1)

    def overlap(boxes, box):
        low = torch.max(boxes[:, :2], box[:2])
        high = torch.min(boxes[:, 2:], box[2:])
        inner = (high - low).clamp(min=0).prod(dim=1)
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(dim=1)
        return inner / (areas + (box[2:] - box[:2]).prod() - inner)

    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=3), nn.BatchNorm2d(8), nn.LeakyReLU(0.1),
        nn.Conv2d(8, 6, 3, padding=1),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    yield [net]
    while True:
        images, boxes = np.zeros((8, 1, 12, 12)), stream.integers(0, 7, (8, 4))
        boxes[:, 2:] = boxes[:, :2] + stream.integers(4, 6, (8, 2))
        for image, (x0, y0, x1, y1) in zip(images, boxes, strict=True):
            image[0, y0:y1, x0:x1] = 1
        out = net(floats(torch, images + stream.normal(size=images.shape) * 0.1))
        out = out.permute(0, 2, 3, 1).reshape(8, 16, 6)
        near = torch.stack([overlap(anchors, box) for box in floats(torch, boxes)])
        positive = (near > 0.4) | (near == near.max(dim=1, keepdim=True).values)
        wanted = floats(torch, boxes)[:, None].expand(8, 16, 4) - anchors
        place = F.smooth_l1_loss(out[..., 2:][positive], wanted[positive], beta=0.5)
        scores = F.cross_entropy(
            out[..., :2].flatten(0, 1), positive.flatten().long(), reduction="none"
        ).view(8, 16)
        count = positive.sum(1, keepdim=True)
        worst = scores.masked_fill(positive, 0).argsort(dim=1, descending=True).argsort(dim=1)
        hard = worst < 3 * count
        yield stepped(place + scores[positive | hard].sum() / count.sum(), optimizer)


def painted_in_a_style(torch, nn, F):
    """The image is learned, with a closure: features of one picture, Gram matrices of another."""
    stream = np.random.default_rng(142)
    content, style = (floats(torch, a) for a in shapes(stream, 2, 12)[0][:, None])
    body = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 3)
    )
    body.requires_grad_(False).eval()
    image = content.clone().add_(floats(torch, stream.normal(size=(1, 1, 12, 12)) * 0.3))
    image.requires_grad_()
    yield [body]

    def gram(features):
        a, b, c, d = features.size()
        flat = features.view(a * b, c * d)
        return torch.mm(flat, flat.t()).div(a * b * c * d)

    felt = {}
    for name, layer in body.named_children():
        layer.register_forward_hook(
            lambda _module, _given, out, name=name: felt.__setitem__(name, out)
        )
    with torch.no_grad():
        body(style)
        wanted_style = {name: gram(felt[name]) for name in ("0", "3")}
        body(content)
        wanted_content = felt["3"]
    optimizer = torch.optim.Adam([image], lr=0.05)

    def closure():
        with torch.no_grad():
            image.clamp_(-2, 2)
        optimizer.zero_grad()
        body(image)
        loss = sum(5e4 * F.mse_loss(gram(felt[n]), g) for n, g in wanted_style.items())
        loss = loss + 1e2 * F.mse_loss(felt["3"], wanted_content)
        rough = image.diff(dim=3).square().mean() + image.diff(dim=2).square().mean()
        loss = loss + 0.1 * rough
        loss.backward()
        return loss

    while True:
        yield optimizer.step(closure).item()


def image_as_function(torch, nn, F):
    """Sines all the way: a net from coordinates to brightness, judged by its slopes as well."""
    side = torch.linspace(-1, 1, 10)
    y, x = torch.meshgrid(side, side, indexing="ij")
    wanted = torch.sin(3 * x) * torch.cos(2 * y)
    slope = torch.stack(
        [3 * torch.cos(3 * x) * torch.cos(2 * y), -2 * torch.sin(3 * x) * torch.sin(2 * y)], -1
    )

    class Siren(nn.Module):
        def __init__(self, inputs, outputs, w0=1.0, first=False):
            super().__init__()
            self.linear, self.w0 = nn.Linear(inputs, outputs), w0
            with torch.no_grad():
                bound = 1 / inputs if first else (6 / inputs) ** 0.5 / w0
                self.linear.weight.uniform_(-bound, bound)

        def forward(self, x):
            return torch.sin(self.w0 * self.linear(x))

    net = nn.Sequential(Siren(2, 24, 5.0, True), Siren(24, 24, 2.0), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    yield [net]
    while True:
        at = torch.stack([x, y], dim=-1).requires_grad_(True)
        said = net(at).squeeze(-1)
        (told,) = torch.autograd.grad(said, at, torch.ones_like(said), create_graph=True)
        loss = ((said - wanted) ** 2).mean() + 0.1 * (told - slope).norm(dim=-1).mean()
        yield stepped(loss, optimizer)
