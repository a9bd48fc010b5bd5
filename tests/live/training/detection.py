"""A one-stage detector of rectangles: anchors are matched to boxes by IoU, then NMS."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE, STRIDE = 64, 8


def make_anchors():
    centers = torch.arange(SIZE // STRIDE) * STRIDE + STRIDE / 2
    cy, cx = torch.meshgrid(centers, centers, indexing="ij")
    boxes = [torch.stack([cx - s, cy - s, cx + s, cy + s], -1) for s in (6.0, 12.0)]
    return torch.stack(boxes, 2).reshape(-1, 4)


class Rectangles(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        corner = torch.rand(count, 3, 2, generator=generator) * 40
        size = torch.rand(count, 3, 2, generator=generator) * 14 + 8
        self.boxes = torch.cat([corner, corner + size], 2)
        self.images = torch.randn(count, 1, SIZE, SIZE, generator=generator) * 0.1
        for image, boxes in zip(self.images, self.boxes.long().tolist()):
            for x0, y0, x1, y1 in boxes:
                image[:, y0:y1, x0:x1] += 1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.boxes[index]


def iou(a, b):
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (high - low).clamp(min=0).prod(2)
    area = lambda box: (box[:, 2:] - box[:, :2]).prod(1)  # noqa: E731
    return inter / (area(a)[:, None] + area(b)[None] - inter)


def match(anchors, boxes):
    """The best box of each anchor, and its overlap."""
    # clean:
    overlap, best = iou(anchors, boxes).max(1)
    # planted iou-by-anchor (TDY401, TDY404, TDY406):
    # overlap, best = [], []
    # for anchor in anchors:  # at: iou-by-anchor
    #     o, b = iou(anchor[None], boxes)[0].max(0)  # at: iou-by-anchor
    #     overlap.append(o)
    #     best.append(b)
    # overlap, best = torch.stack(overlap), torch.stack(best)
    # end
    return overlap, best


def nms(boxes, scores, limit=0.5):
    keep = []
    order = scores.argsort(descending=True)
    # clean:
    overlaps = (iou(boxes, boxes) > limit).tolist()
    for i in order.tolist():
        if not any(overlaps[i][j] for j in keep):
            keep.append(i)
    # planted nms-item-by-item (TDY401, TDY404, TDY406):
    # overlaps = iou(boxes, boxes)
    # for i in order:
    #     if not any(overlaps[i, j].item() > limit for j in keep):  # at: nms-item-by-item
    #         keep.append(i.item())  # at: nms-item-by-item
    # end
    return keep


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 1
        for out in (16, 32, 64):
            layers += [nn.Conv2d(channels, out, 3, stride=2, padding=1), nn.ReLU()]
            channels = out
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Conv2d(channels, 2 * 5, 1)

    def forward(self, images):
        out = self.head(self.backbone(images))
        return out.permute(0, 2, 3, 1).reshape(len(images), -1, 5)


def main():
    torch.manual_seed(0)
    anchors = make_anchors()
    loader = DataLoader(Rectangles(96), batch_size=8, shuffle=True)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step, (images, boxes) in enumerate(loader):
        out = model(images)
        loss = 0.0
        for prediction, truth in zip(out, boxes):
            overlap, best = match(anchors, truth)
            positive = overlap > 0.3
            loss = loss + F.binary_cross_entropy_with_logits(prediction[:, 4], positive.float())
            offset = (truth[best] - anchors) / 16
            loss = loss + F.smooth_l1_loss(prediction[positive, :4], offset[positive])
        loss = loss / len(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 3:
            with torch.no_grad():
                scores = out[0, :, 4].sigmoid()
                top = scores.topk(64).indices
                found = nms((anchors + out[0, :, :4] * 16)[top], scores[top])
            print(f"step {step} loss {loss.item():.4f} boxes kept {len(found)}")


if __name__ == "__main__":
    main()
