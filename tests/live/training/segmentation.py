"""A U-Net that segments discs, with a Dice loss and mean IoU."""

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 3


def block(inputs, outputs):
    return nn.Sequential(
        # clean:
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        # planted bias-before-norm (TDY701):
        # nn.Conv2d(inputs, outputs, 3, padding=1),  # fix: bias-before-norm
        # nn.BatchNorm2d(outputs),
        # nn.ReLU(),
        # nn.Conv2d(outputs, outputs, 3, padding=1),  # fix: bias-before-norm
        # nn.BatchNorm2d(outputs),
        # nn.ReLU(),
        # end
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = block(1, width), block(width, 2 * width)
        self.middle = block(2 * width, 4 * width)
        self.up2, self.up1 = block(6 * width, 2 * width), block(3 * width, width)
        self.head = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        first = self.down1(x)  # at: bias-before-norm
        second = self.down2(F.max_pool2d(first, 2))  # at: bias-before-norm
        x = self.middle(F.max_pool2d(second, 2))  # at: bias-before-norm
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = self.up2(torch.cat([x, second], 1))  # at: bias-before-norm
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        return self.head(self.up1(torch.cat([x, first], 1)))  # at: bias-before-norm


def make_batch(size=8, side=32):
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    masks = torch.zeros(size, side, side, dtype=torch.long)
    for kind in (1, 2):
        center = torch.rand(2, size, 1, 1) * side
        radius = 4 + 6 * torch.rand(size, 1, 1)
        masks[(x - center[0]) ** 2 + (y - center[1]) ** 2 < radius**2] = kind
    return masks[:, None].float() + 0.5 * torch.randn(size, 1, side, side), masks


def dice_loss(logits, masks):
    probabilities = logits.softmax(1)
    wanted = F.one_hot(masks, CLASSES).permute(0, 3, 1, 2).float()
    overlap = (probabilities * wanted).sum((0, 2, 3))
    return 1 - (2 * overlap / (probabilities + wanted).sum((0, 2, 3)).clamp(min=1)).mean()


def mean_iou(predicted, masks):
    # clean:
    pairs = torch.bincount((masks * CLASSES + predicted).flatten(), minlength=CLASSES**2)
    pairs = pairs.view(CLASSES, CLASSES)
    inter = pairs.diagonal()
    return (inter / (pairs.sum(0) + pairs.sum(1) - inter).clamp(min=1)).mean().item()
    # planted iou-by-image-and-class (TDY401, TDY404, TDY406):
    # scores = []
    # for p, m in zip(predicted, masks):  # at: iou-by-image-and-class
    #     for c in range(CLASSES):
    #         inter = ((p == c) & (m == c)).sum().item()  # at: iou-by-image-and-class
    #         union = ((p == c) | (m == c)).sum().item()  # at: iou-by-image-and-class
    #         wanted = (m == c).sum().item()  # at: iou-by-image-and-class
    #         if union > 0 and wanted > 0:
    #             scores.append(inter / union)
    # return sum(scores) / len(scores)
    # end


def main():
    torch.manual_seed(0)
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=16)
    for step in range(16):
        images, masks = make_batch()
        logits = model(images)
        loss = F.cross_entropy(logits, masks) + dice_loss(logits, masks)
        optimizer.zero_grad()
        loss.backward()  # at: bias-before-norm
        optimizer.step()
        scheduler.step()
        score = mean_iou(logits.detach().argmax(1), masks)
        if step % 4 == 0:
            print(f"step {step} loss {loss.item():.4f} IoU {score:.3f}")
    model.eval()
    with torch.no_grad():
        images, masks = make_batch(16)
        print(f"validation IoU {mean_iou(model(images).argmax(1), masks):.3f}")


if __name__ == "__main__":
    main()
