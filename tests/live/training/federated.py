"""Federated averaging: clients train on their own rows, and a server averages their weights."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def make_net(width=128):
    return nn.Sequential(
        nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 5)
    )


def make_clients(count, rows=512):
    """Return the rows and labels of each client, of which each prefers other features."""
    torch.manual_seed(0)
    truth = torch.randn(32, 5)
    clients = []
    for _ in range(count):
        x = torch.randn(rows, 32) + 0.5 * torch.randn(32)
        clients.append((x, (x @ truth).argmax(-1)))
    return clients


def averaged(states):
    # clean:
    return {name: torch.stack([each[name] for each in states]).mean(0) for name in states[0]}
    # planted mean-row-by-row (TDY404):
    # mean = copy.deepcopy(states[0])
    # for name, value in mean.items():
    #     for r in range(len(value)):
    #         value[r] = sum(each[name][r] for each in states) / len(states)  # at: mean-row-by-row
    # return mean
    # end


def train_client(net, x, y, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(steps):
        chosen = torch.randint(len(x), (64,))
        # clean:
        loss = F.cross_entropy(net(x[chosen]), y[chosen])
        # planted rows-one-by-one (TDY106, TDY404):
        # rows = torch.stack([x[i] for i in chosen])  # at: rows-one-by-one
        # labels = torch.stack([y[i] for i in chosen])  # at: rows-one-by-one
        # loss = F.cross_entropy(net(rows), labels)
        # end
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # planted proximal-copy-each-step (TDY413):
        # start = copy.deepcopy(net)  # at: proximal-copy-each-step
        # start.eval()
        # end
    return net.state_dict()


@torch.no_grad()
def accuracy(net, clients):
    right = [(net(x).argmax(-1) == y).float().mean() for x, y in clients]
    return torch.stack(right).mean().item()


def main():
    clients = make_clients(4)
    server = make_net()
    for turn in range(24):
        states = []
        for x, y in clients:
            states.append(train_client(copy.deepcopy(server), x, y))
        server.load_state_dict(averaged(states))
        if turn % 6 == 0:
            print(f"round {turn} accuracy {accuracy(server, clients):.3f}")


if __name__ == "__main__":
    main()
