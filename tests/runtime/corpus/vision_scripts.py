"""Families of image nets: residual, separable, U-shaped, of patches."""

import numpy as np

from .common import batches, shapes, stepped


def residual_net(torch, nn, F):
    """Basic blocks with shortcuts, zeroed last norms, warm restarts of the rate."""
    images, labels = shapes(np.random.default_rng(130), 48)

    class BasicBlock(nn.Module):
        def __init__(self, inputs, planes, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Sequential()
            if stride != 1 or inputs != planes:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
                )
            nn.init.constant_(self.bn2.weight, 0.1)

        def forward(self, x):
            out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            out += self.shortcut(x)
            return F.relu(out)

    net = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True),
        BasicBlock(6, 6), BasicBlock(6, 10, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
        nn.Linear(10, 3),
    )  # fmt: skip
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=15, T_mult=2)
    yield [net]
    for x, y in batches(torch, [images, labels], 12):
        yield stepped(F.cross_entropy(net(x), y), optimizer, scheduler)


def separable_with_excitation(torch, nn, F):
    """Inverted residuals: depthwise convolutions, squeeze and excitation, labels mixed in pairs."""
    stream = np.random.default_rng(132)
    images, labels = shapes(stream, 48)

    class SqueezeExcite(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.fc1, self.fc2 = nn.Conv2d(channels, 3, 1), nn.Conv2d(3, channels, 1)

        def forward(self, x):
            scale = F.adaptive_avg_pool2d(x, 1)
            return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(scale))))

    class InvertedResidual(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            hidden = inputs * 2
            self.joined = stride == 1 and inputs == outputs
            self.block = nn.Sequential(
                nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden, momentum=0.01),
                nn.Hardswish(), nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
                nn.BatchNorm2d(hidden, momentum=0.01), SqueezeExcite(hidden), nn.Hardswish(),
                nn.Conv2d(hidden, outputs, 1),
            )  # fmt: skip

        def forward(self, x):
            return x + self.block(x) if self.joined else self.block(x)

    net = nn.Sequential(
        InvertedResidual(1, 6, 2), InvertedResidual(6, 6, 1), nn.Flatten(), nn.Linear(96, 3)
    )
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, alpha=0.9, momentum=0.8, eps=1e-2)
    yield [net]
    for x, y in batches(torch, [images, labels], 12):
        share, other = float(stream.beta(0.4, 0.4)), torch.tensor(stream.permutation(12))
        logits = net(share * x + (1 - share) * x[other])
        wanted = share * F.one_hot(y, 3) + (1 - share) * F.one_hot(y[other], 3)
        yield stepped(F.cross_entropy(logits, wanted.to(x.dtype)), optimizer)


def u_shaped_segmentation(torch, nn, F):
    """Down, up by transposed convolutions, joined on the way; overlap and focal losses."""
    images, _ = shapes(np.random.default_rng(133), 40)
    masks = (images > 0.5).astype(float)

    def double(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.ReLU(True)
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.downs = nn.ModuleList([double(1, 4), double(4, 8)])
            self.bottom = double(8, 8)
            self.ups = nn.ModuleList(
                [nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(8, 4, 2, 2)]
            )
            self.joins = nn.ModuleList([double(16, 8), double(8, 4)])
            self.out = nn.Conv2d(4, 1, 1)

        def forward(self, x):
            skips = []
            for down in self.downs:
                skips.append(down(x))
                x = F.max_pool2d(skips[-1], 2)
            x = self.bottom(x)
            for up, join in zip(self.ups, self.joins, strict=True):
                x = join(torch.cat([skips.pop(), up(x)], dim=1))
            return self.out(x)

    net = UNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    yield [net]
    for x, mask in batches(torch, [images, masks], 8):
        logits = net(x)
        p = logits.sigmoid()
        overlap = (p * mask).sum((1, 2, 3))
        dice = 1 - ((2 * overlap + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()
        ce = F.binary_cross_entropy_with_logits(logits, mask, reduction="none")
        focal = (ce * (1 - torch.where(mask > 0, p, 1 - p)) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        (dice + focal).backward()
        optimizer.step()
        yield (dice + focal).item()


def patches_as_words(torch, nn, F):
    """A vision transformer: a convolution cuts patches, a class token, attention by module."""
    images, labels = shapes(np.random.default_rng(134), 60)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
            self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
            self.scale = nn.Parameter(torch.full((width,), 0.5))

        def forward(self, x):
            h = self.norm1(x)
            out, weights = self.attn(h, h, h, need_weights=True)
            x = x + self.scale * out
            return x + self.mlp(self.norm2(x)), weights

    class ViT(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.patch = nn.Conv2d(1, width, kernel_size=2, stride=2)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
            self.pos = nn.Parameter(torch.empty(1, 17, width))
            nn.init.trunc_normal_(self.pos, std=0.02)
            self.blocks = nn.ModuleList([Block(width), Block(width)])
            self.head = nn.Linear(width, 3)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls_token.expand(x.size(0), -1, -1), x), dim=1) + self.pos
            for block in self.blocks:
                x, weights = block(x)
            entropy = -(weights * (weights + 1e-9).log()).sum(-1).mean()
            return self.head(x[:, 0]), entropy

    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=200)
    yield [model]
    for x, y in batches(torch, [images, labels], 20):
        logits, entropy = model(x)
        yield stepped(F.cross_entropy(logits, y) + 0.01 * entropy, optimizer, scheduler)
