"""A small convolutional student learns from the soft answers of a wider teacher."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_net(width, depth):
    layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, 10)]
    return nn.Sequential(*layers)


def distillation_loss(student, teacher, labels, temperature=3.0, alpha=0.7):
    soft = F.kl_div(
        F.log_softmax(student / temperature, 1),
        F.log_softmax(teacher / temperature, 1),
        reduction="batchmean",
        log_target=True,
    )
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student, labels)


class Meter:
    def __init__(self):
        self.total, self.count = torch.zeros(()), 0

    def update(self, value, count):
        self.total += value.detach() * count
        self.count += count

    def mean(self):
        return self.total.item() / self.count


def main():
    torch.manual_seed(0)
    images = torch.randn(384, 3, 20, 20)
    labels = images[:, :, :10].mean((1, 2, 3)).argsort().argsort() * 10 // len(images)
    loader = DataLoader(TensorDataset(images, labels), batch_size=48, shuffle=True, drop_last=True)
    teacher, student = make_net(48, 3).eval(), make_net(12, 2)
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-3)
    best, best_loss = None, float("inf")
    for epoch in range(2):
        meter = Meter()
        for step, (x, y) in enumerate(loader):
            # clean:
            with torch.no_grad():
                wanted = teacher(x)
            # planted teacher-with-graph (TDY702, TDY704):
            # wanted = teacher(x)  # at: teacher-with-graph
            # end
            loss = distillation_loss(student(x), wanted, y)
            optimizer.zero_grad()
            loss.backward()  # at: teacher-with-graph
            optimizer.step()
            meter.update(loss, len(x))
            # planted checkpoint-each-step (TDY413):
            # state = {"optimizer": optimizer.state_dict(), "teacher": teacher.state_dict()}
            # state["student"] = student.state_dict()
            # best = copy.deepcopy(state)  # at: checkpoint-each-step
            # end
            if step % 4 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        # clean:
        if meter.mean() < best_loss:
            best, best_loss = copy.deepcopy(student.state_dict()), meter.mean()
        # planted checkpoint-each-step:
        # best_loss = min(best_loss, meter.mean())
        # end
    print(f"best mean loss {best_loss:.4f}, {len(best)} entries kept")


if __name__ == "__main__":
    main()
