"""Graph networks: convolutions, attention over edges, samples of neighbours, messages, links."""

import numpy as np

from .common import floats, stepped


def communities(seed, nodes=30, groups=3):
    """An undirected graph with more edges inside groups: `(2, edges)`, groups, features."""
    stream = np.random.default_rng(seed)
    group = np.arange(nodes) % groups
    odds = np.where(group[:, None] == group, 0.35, 0.03)
    upper = np.triu(stream.random((nodes, nodes)) < odds, 1)
    edges = np.stack(np.nonzero(upper | upper.T))
    return edges, group, stream.normal(size=(nodes, 8)) + np.eye(groups, 8)[group]


def graph_convolution(torch, nn, F):
    """Two layers on a normalised, sparse adjacency; few nodes have labels."""
    edges, group, features = communities(110)
    x, y = floats(torch, features), torch.tensor(group)
    adjacency = torch.zeros(30, 30)
    adjacency[torch.tensor(edges[0]), torch.tensor(edges[1])] = 1.0
    adjacency.fill_diagonal_(1.0)
    degree = torch.diag(adjacency.sum(1).pow(-0.5))
    adjacency = (degree @ adjacency @ degree).to_sparse_coo()

    class GraphConvolution(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(inputs, outputs))
            self.bias = nn.Parameter(torch.empty(outputs))
            stdv = 1.0 / self.weight.size(1) ** 0.5
            self.weight.data.uniform_(-stdv, stdv)
            self.bias.data.uniform_(-stdv, stdv)

        def forward(self, x, adj):
            return torch.spmm(adj, torch.mm(x, self.weight)) + self.bias

        def extra_repr(self):
            return f"{self.weight.size(0)} -> {self.weight.size(1)}"

    class GCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.gc1, self.gc2 = GraphConvolution(8, 12), GraphConvolution(12, 3)

        def forward(self, x, adj):
            return F.log_softmax(self.gc2(F.relu(self.gc1(x, adj)), adj), dim=1)

    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    train, held = torch.arange(12), torch.arange(12, 30)
    yield [model]
    while True:
        output = model(x, adjacency)
        told = stepped(F.nll_loss(output[train], y[train]), optimizer)
        with torch.no_grad():
            right = (model(x, adjacency)[held].max(1)[1] == y[held]).sum()
        yield told + 1 - right.item() / len(held)


def graph_attention(torch, nn, F):
    """Heads that weigh neighbours: a softmax over the edges into each node, by scattering."""
    edges, group, features = communities(111)
    x, y = floats(torch, features), torch.tensor(group)
    loops = np.arange(30)
    source, target = torch.tensor(np.concatenate([edges, [loops, loops]], 1)).unbind(0)

    class GATLayer(nn.Module):
        def __init__(self, inputs, outputs, heads):
            super().__init__()
            self.proj = nn.Linear(inputs, heads * outputs, bias=False)
            self.to_source = nn.Parameter(torch.randn(1, heads, outputs) * 0.3)
            self.to_target = nn.Parameter(torch.randn(1, heads, outputs) * 0.3)
            self.heads = heads

        def forward(self, x):
            h = self.proj(x).view(len(x), self.heads, -1)
            to_source, to_target = ((h * a).sum(-1) for a in (self.to_source, self.to_target))
            scores = to_source.index_select(0, source) + to_target.index_select(0, target)
            scores = F.leaky_relu(scores, 0.2)
            exp = (scores - scores.max()).exp()
            total = torch.zeros(len(x), self.heads).scatter_add_(
                0, target.unsqueeze(-1).expand_as(exp), exp
            )
            share = exp / (total.index_select(0, target) + 1e-16)
            messages = h.index_select(0, source) * share.unsqueeze(-1)
            return torch.zeros_like(h).index_add(0, target, messages)

    first, second = GATLayer(8, 6, 2), GATLayer(12, 3, 2)
    model = nn.ModuleList([first, second])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-3)
    yield [model]
    while True:
        out = second(F.elu(first(x).flatten(1))).mean(1)
        loss = F.cross_entropy(out[:15], y[:15], weight=torch.tensor([1.0, 2.0, 0.5]))
        yield stepped(loss, optimizer)


def sampled_neighbours(torch, nn, F):
    """GraphSAGE: means over a few sampled neighbours, joined to the node's own, normalised."""
    edges, group, features = communities(112)
    stream = np.random.default_rng(113)
    near = [np.append(edges[1][edges[0] == node], node) for node in range(30)]
    x, y = floats(torch, features), torch.tensor(group)

    class SAGE(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(16, 12), nn.Linear(24, 3)])

        def forward(self, x, samples):
            for i, (layer, picked) in enumerate(zip(self.layers, samples, strict=True)):
                x = layer(torch.cat([x, x[picked].mean(dim=1)], dim=1))
                if i == 0:
                    x = F.normalize(F.relu(x), p=2.0, dim=-1)
            return x

    model = SAGE()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    yield [model]
    while True:
        samples = [torch.tensor(np.stack([stream.choice(n, 4) for n in near])) for _ in range(2)]
        yield stepped(F.cross_entropy(model(x, samples), y), optimizer)


def messages_in_molecules(torch, nn, F):
    """A batch of graphs in one: messages along edges, a GRU per node, a sum per graph."""
    stream = np.random.default_rng(114)

    class MessagePassing(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.atoms, self.bonds = nn.Embedding(4, width), nn.Embedding(3, width)
            self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU())
            self.update = nn.GRUCell(width, width)
            self.readout = nn.Linear(width, 1)

        def forward(self, atoms, edges, bonds, graph, count):
            h, e = self.atoms(atoms), self.bonds(bonds)
            for _ in range(3):
                m = self.message(torch.cat([h[edges[0]], e], dim=-1))
                h = self.update(torch.zeros_like(h).index_add_(0, edges[1], m), h)
            pooled = h.new_zeros(count, h.shape[1]).index_add_(0, graph, h)
            return self.readout(pooled).squeeze(-1)

    model = MessagePassing()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    yield [model]
    while True:
        atoms, edges, bonds, graph, wanted = [], [], [], [], []
        for number, size in enumerate(stream.integers(3, 7, 8)):
            ring = np.arange(size)
            kinds, joined = stream.integers(0, 4, size), stream.integers(0, 3, size)
            begin = len(np.concatenate(atoms)) if atoms else 0
            edges.append(begin + np.stack([np.r_[ring, ring - 1], np.r_[ring - 1, ring]]) % size)
            bonds.append(np.r_[joined, joined])
            atoms.append(kinds)
            graph.append(np.full(size, number))
            wanted.append((kinds == 1).sum() + 0.5 * (joined == 2).sum())
        edges = [e % (1 + e.max()) for e in edges]
        said = model(
            *(torch.tensor(np.concatenate(a, -1)) for a in (atoms, edges, bonds, graph)), 8
        )
        yield stepped(F.l1_loss(said, floats(torch, wanted)), optimizer)


def predicted_links(torch, nn, F):
    """A graph autoencoder: edges are told from pairs that are none by products of embeddings."""
    edges, _, features = communities(115)
    stream = np.random.default_rng(116)
    x, real = floats(torch, features), torch.tensor(edges)
    adjacency = torch.zeros(30, 30).index_put((real[0], real[1]), torch.tensor(1.0))
    adjacency = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.near = nn.Linear(8, 16), nn.Linear(8, 16, bias=False)
            self.out = nn.Bilinear(16, 16, 6)

        def forward(self, x):
            h = F.selu(self.own(x) + self.near(torch.einsum("ij,jf->if", adjacency, x)))
            return self.out(h, adjacency @ h)

    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    yield [model]
    while True:
        z = model(x)
        pairs = torch.cat([real, torch.tensor(stream.integers(0, 30, edges.shape))], dim=1)
        scores = (z[pairs[0]] * z[pairs[1]]).sum(-1)
        wanted = torch.cat([torch.ones(edges.shape[1]), torch.zeros(edges.shape[1])])
        loss = F.binary_cross_entropy_with_logits(scores, wanted)
        ordered = scores.detach()[wanted.argsort(stable=True)]
        above = (ordered[None, edges.shape[1] :] > ordered[: edges.shape[1], None]).sum()
        yield stepped(loss, optimizer) + 1 - above.item() / edges.shape[1] ** 2
