"""Node classification by a graph network that passes messages along edges."""

import torch
import torch.nn.functional as F
from torch import nn

NODES, EDGES, CLASSES = 600, 6000, 5


def make_graph():
    labels = torch.randint(CLASSES, (NODES,))
    source = torch.randint(NODES, (EDGES,))
    target = torch.randint(NODES, (EDGES,))
    same = labels[source] == labels[target]
    keep = same | (torch.rand(EDGES) < 0.3)
    features = F.one_hot(labels, CLASSES).float() @ torch.randn(CLASSES, 32)
    return features + 2 * torch.randn(NODES, 32), source[keep], target[keep], labels


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own, self.message = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x, source, target):
        # clean:
        messages = F.relu(self.message(x))[source]
        received = torch.zeros(len(x), messages.shape[1]).index_add_(0, target, messages)
        # planted aggregate-by-node (TDY401, TDY404, TDY406, TDY411):
        # messages = F.relu(self.message(x))[source]
        # received = []
        # for node in range(len(x)):  # at: aggregate-by-node
        #     received.append(messages[target == node].sum(0))  # at: aggregate-by-node
        # received = torch.stack(received)
        # end
        count = torch.bincount(target, minlength=len(x)).clamp(min=1)
        return self.own(x) + received / count[:, None]


class GraphNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.ModuleList([Layer(32, width), Layer(width, width)])
        self.out = nn.Linear(width, CLASSES)

    def forward(self, x, source, target):
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x, source, target)), 0.2, self.training)
        return self.out(x)


def confusion(predicted, labels):
    # clean:
    return torch.bincount(labels * CLASSES + predicted, minlength=CLASSES**2).view(CLASSES, CLASSES)
    # planted confusion-by-element (TDY401, TDY404, TDY406):
    # matrix = torch.zeros(CLASSES, CLASSES, dtype=torch.long)
    # for t, p in zip(labels, predicted):  # at: confusion-by-element
    #     matrix[t, p] += 1  # at: confusion-by-element
    # return matrix
    # end


def main():
    torch.manual_seed(0)
    x, source, target, labels = make_graph()
    train = torch.rand(NODES) < 0.3
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(12):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, source, target)[train], labels[train])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            predicted = model(x, source, target)[~train].argmax(1)
        matrix = confusion(predicted, labels[~train])
        if epoch % 4 == 0:
            accuracy = matrix.diagonal().sum().item() / matrix.sum().item()
            print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
