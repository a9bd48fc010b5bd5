"""A Trainer with callbacks, logging, evaluation and checkpoints, as larger libraries have it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Arguments:
    epochs: int = 1
    batch_size: int = 32
    rate: float = 5e-4
    logging_steps: int = 5
    # clean:
    save_steps: int = 10
    # planted saved-each-step (TDY413):
    # save_steps: int = 1
    # end
    max_grad_norm: float = 1.0


class Callback:
    def on_step_end(self, trainer): ...

    def on_evaluate(self, trainer, metrics): ...


class Logger(Callback):
    def on_step_end(self, trainer):
        # planted norms-by-item (TDY411, TDY604):
        # norms = {}
        # for name, p in trainer.model.named_parameters():
        #     norms[name] = p.grad.norm().item()  # at: norms-by-item
        #     norms[name + ".weight"] = p.detach().norm().item()  # at: norms-by-item
        #     norms[name + ".mean"] = p.detach().mean().item()  # at: norms-by-item
        #     norms[name + ".largest"] = p.detach().abs().max().item()  # at: norms-by-item
        # trainer.history.append(norms)
        # end
        if trainer.step % trainer.args.logging_steps == 0:
            trainer.history.append({"step": trainer.step, "loss": trainer.loss.item()})
            print(trainer.history[-1])

    def on_evaluate(self, trainer, metrics):
        print({key: round(value, 4) for key, value in metrics.items()})


class Checkpoints(Callback):
    def __init__(self, folder):
        self.folder = Path(folder)

    def on_step_end(self, trainer):
        if trainer.step % trainer.args.save_steps == 0:
            state = {"model": trainer.model.state_dict(), "opt": trainer.optimizer.state_dict()}
            torch.save(state, self.folder / "last.pt")  # at: saved-each-step


class Trainer:
    def __init__(self, model, args, train_set, eval_set, callbacks):
        self.model, self.args, self.callbacks = model, args, callbacks
        self.train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
        self.eval_loader = DataLoader(eval_set, args.batch_size)
        self.optimizer = torch.optim.AdamW(model.parameters(), args.rate)
        total = args.epochs * len(self.train_loader)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.1, total)
        self.step, self.loss, self.history = 0, None, []

    def call(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(self, *args)

    def compute_loss(self, batch):
        ids, labels = batch
        return F.cross_entropy(self.model(ids), labels)

    def training_step(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.compute_loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        self.scheduler.step()
        return loss.detach()

    def train(self):
        for _ in range(self.args.epochs):
            for batch in self.train_loader:
                self.loss = self.training_step(batch)
                self.step += 1
                self.call("on_step_end")
            self.call("on_evaluate", self.evaluate())

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses = torch.stack([self.compute_loss(batch) for batch in self.eval_loader])
        return {"eval_loss": losses.mean().item()}


class TextClassifier(nn.Module):
    def __init__(self, vocab=500, width=96, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 4, 192, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


def make_data(count):
    labels = torch.randint(4, (count,))
    return TensorDataset((torch.randint(500, (count, 48)) + labels[:, None] * 40) % 500, labels)


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [Logger(), Checkpoints(folder)]
        trainer = Trainer(TextClassifier(), Arguments(), make_data(640), make_data(128), callbacks)
        trainer.train()


if __name__ == "__main__":
    main()
