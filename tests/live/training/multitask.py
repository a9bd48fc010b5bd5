"""Three tasks on one trunk, weighted by what is learned of their uncertainty."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.heads = nn.ModuleDict(
            {"cls": nn.Linear(width, 10), "reg": nn.Linear(width, 3), "bin": nn.Linear(width, 1)}
        )
        self.log_var = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        h = self.trunk(x)
        return {k: head(h) for k, head in self.heads.items()}


def main():
    torch.manual_seed(0)
    x = torch.randn(4096, 64)
    targets = {
        "cls": torch.randint(0, 10, (4096,)),
        "reg": torch.randn(4096, 3),
        "bin": torch.randint(0, 2, (4096, 1)).float(),
    }
    losses = {
        "cls": F.cross_entropy,
        "reg": F.smooth_l1_loss,
        "bin": F.binary_cross_entropy_with_logits,
    }
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    sums = torch.zeros(3)
    for step in range(60):
        pick = torch.randint(0, 4096, (256,))
        out = net(x[pick])
        # clean:
        each = torch.stack([losses[k](out[k], targets[k][pick]) for k in out])
        # planted loss-sample-by-sample (TDY404, TDY406):
        # each = torch.zeros(3)
        # for i, k in enumerate(out):
        #     for row, label in zip(out[k], targets[k][pick]):  # at: loss-sample-by-sample
        #         each[i] = each[i] + losses[k](row, label) / 256  # at: loss-sample-by-sample
        # end
        optimizer.zero_grad()
        # clean:
        (each * (-net.log_var).exp() + net.log_var).sum().backward()
        # planted backward-for-each-task (TDY703):
        # for loss in each * (-net.log_var).exp() + net.log_var:
        #     loss.backward(retain_graph=True)  # at: backward-for-each-task
        # end
        optimizer.step()
        sums += each.detach()
        if step % 20 == 19:
            print(step + 1, [round(v, 3) for v in (sums / 20).tolist()])
            sums.zero_()


if __name__ == "__main__":
    main()
