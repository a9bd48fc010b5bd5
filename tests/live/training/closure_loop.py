"""A loop in which a module defines its steps and the optimizer is given a closure."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Module(nn.Module):
    """What a user of such a library writes."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 20)
        )
        self.logged = {}
        # clean:
        self.register_buffer("weights", torch.linspace(0.5, 1.5, 20))
        # planted weights-from-list (TDY107, TDY401, TDY404, TDY406, TDY411):
        # end

    def log(self, name, value):
        self.logged.setdefault(name, []).append(value.detach())

    def loss(self, batch):
        x, y = batch
        # clean:
        weights = self.weights[y]
        # planted weights-from-list:
        # weights = [torch.tensor(0.5 + label.item() / 19) for label in y]  # at: weights-from-list
        # weights = torch.stack(weights)
        # end
        losses = F.cross_entropy(self.net(x), y, reduction="none")
        return (losses * weights).mean()

    def training_step(self, batch):
        loss = self.loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


class Fit:
    def __init__(self, module, train_loader, val_loader, log_every=5):
        self.module, self.log_every = module, log_every
        self.train_loader, self.val_loader = train_loader, val_loader
        self.optimizer = module.configure_optimizers()

    def optimizer_step(self, batch):
        def closure():
            self.optimizer.zero_grad()
            loss = self.module.training_step(batch)
            loss.backward()
            return loss

        # clean:
        return self.optimizer.step(closure)
        # planted forward-again-to-log (TDY708):
        # self.optimizer.step(closure)
        # return self.module.training_step(batch)  # at: forward-again-to-log
        # end

    def validate(self):
        self.module.eval()
        with torch.no_grad():
            for batch in self.val_loader:
                self.module.validation_step(batch)
        self.module.train()

    def run(self, epochs):
        for epoch in range(epochs):
            for index, batch in enumerate(self.train_loader):
                loss = self.optimizer_step(batch)
                if index % self.log_every == 0:
                    print(f"epoch {epoch} batch {index} loss {loss.item():.4f}")
            self.validate()
            means = {k: torch.stack(v).mean().item() for k, v in self.module.logged.items()}
            print(f"epoch {epoch}", {k: round(v, 4) for k, v in means.items()})
            self.module.logged.clear()


def make_data(count):
    x = torch.randn(count, 256)
    weight = torch.randn(256, 20, generator=torch.Generator().manual_seed(3))
    return TensorDataset(x, (x @ weight).argmax(1))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_data(2560), batch_size=256, shuffle=True)
    val_loader = DataLoader(make_data(512), batch_size=256)
    Fit(Module(), train_loader, val_loader).run(epochs=2)


if __name__ == "__main__":
    main()
