"""TransE: entities and relations of a graph as vectors, against sampled wrong triples."""

import random

import torch
import torch.nn.functional as F
from torch import nn

ENTITIES, RELATIONS, WIDTH = 20000, 12, 64


class TransE(nn.Module):
    def __init__(self):
        super().__init__()
        # clean:
        self.entities = nn.Embedding(ENTITIES, WIDTH, sparse=True)
        # planted dense-entities (TDY605):
        # self.entities = nn.Embedding(ENTITIES, WIDTH)  # fix: dense-entities
        # end
        self.relations = nn.Embedding(RELATIONS, WIDTH, sparse=True)

    def forward(self, triples):
        heads, relations, tails = triples.unbind(-1)
        moved = self.entities(heads) + self.relations(relations)  # at: dense-entities
        return (moved - self.entities(tails)).abs().sum(-1)  # at: dense-entities


def corrupted(triples, known, rows):
    # clean:
    wrong = triples.clone()
    which = torch.randint(2, (len(triples),)) * 2
    wrong[torch.arange(len(triples)), which] = torch.randint(ENTITIES, (len(triples),))
    return wrong
    # planted negatives-in-python (TDY107, TDY401):
    # wrong = []
    # for head, relation, tail in rows:  # at: negatives-in-python
    #     while (head, relation, tail) in known:
    #         if random.random() < 0.5:
    #             head = random.randrange(ENTITIES)
    #         else:
    #             tail = random.randrange(ENTITIES)
    #     wrong.append([head, relation, tail])
    # return torch.tensor(wrong)  # at: negatives-in-python
    # end


def main():
    torch.manual_seed(0)
    random.seed(0)
    heads = torch.randint(ENTITIES, (40000,))
    relations = torch.randint(RELATIONS, (40000,))
    tails = (heads * 7 + relations * 131) % ENTITIES
    triples = torch.stack([heads, relations, tails], 1)
    rows = [tuple(row) for row in triples.tolist()]
    known = set(rows)
    model = TransE()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step, index in enumerate(torch.randperm(40000).split(512)):
        # clean:
        batch, chosen = triples[index], None
        # planted negatives-in-python (TDY107, TDY401):
        # batch = triples[index]
        # chosen = [rows[at] for at in index.tolist()]  # at: negatives-in-python
        # end
        wrong = corrupted(batch, known, chosen)  # at: negatives-in-python
        loss = F.relu(2.0 + model(batch) - model(wrong)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
