"""Habits of longer trainings, and losses beside classes: resumption, no backward, likelihoods."""

import copy

import numpy as np

from .common import blobs, floats, moons, stepped


def resumed_mixed_precision(torch, nn, F):
    """A scaled loss that overflows at times; every fifth step all state is saved and read again."""
    points, which = moons(np.random.default_rng(300), 96)
    data = torch.utils.data
    parts = [
        data.Subset(data.TensorDataset(floats(torch, points), torch.tensor(which)), rows.tolist())
        for rows in np.array_split(np.random.default_rng(301).permutation(96), 3)
    ]
    loader = data.DataLoader(data.ConcatDataset(parts), batch_size=24)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))

    def trained(*states):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
        scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=3)
        for one, state in zip((optimizer, scheduler, scaler), states, strict=False):
            one.load_state_dict(state)
        return optimizer, scheduler, scaler

    yield [model]
    optimizer, scheduler, scaler = trained()
    step = 0
    while True:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss * (float("inf") if step % 7 == 4 else 1)).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            step += 1
            if step % 5 == 0:
                states = [one.state_dict() for one in (optimizer, scheduler, scaler)]
                optimizer, scheduler, scaler = trained(*copy.deepcopy(states))
            yield loss.item() + 1e-5 * scaler.get_scale()


def evolution_strategy(torch, nn, F):
    """No backward: weights move towards those of their neighbours that lose less."""
    stream = np.random.default_rng(302)
    points, which = blobs(stream, 3, 60, 2)
    x, y = floats(torch, points), torch.tensor(which)
    model = nn.Linear(2, 3)
    yield [model]

    def lost(weights):
        nn.utils.vector_to_parameters(weights, model.parameters())
        return F.cross_entropy(model(x), y)

    with torch.no_grad():
        while True:
            now = nn.utils.parameters_to_vector(model.parameters())
            noise = floats(torch, stream.normal(size=(8, len(now))))
            each = torch.stack([lost(now + 0.1 * n) - lost(now - 0.1 * n) for n in noise])
            nn.utils.vector_to_parameters(now - 0.2 * (each @ noise) / 1.6, model.parameters())
            yield F.cross_entropy(model(x), y).item()


def evidential_classifier(torch, nn, F):
    """Evidence for each class makes a Dirichlet; that of wrong classes is drawn towards none."""
    points, which = blobs(np.random.default_rng(304), 3, 90, 2, spread=1.5)
    x, y = floats(torch, points), torch.tensor(which)
    dists, wanted = torch.distributions, F.one_hot(y, 3)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softplus())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    yield [model]
    while True:
        found = dists.Dirichlet(model(x) + 1)
        misfit = ((wanted - found.mean) ** 2 + found.variance).sum(1)
        wrong = dists.Dirichlet(found.concentration * (1 - wanted) + wanted)
        far = dists.kl_divergence(wrong, dists.Dirichlet(torch.ones_like(wrong.concentration)))
        yield stepped((misfit + 0.1 * far).mean(), optimizer)


def rates_of_rain(torch, nn, F):
    """Amounts as a Gamma, shares as a Beta, and whether there is any, in one likelihood."""
    stream = np.random.default_rng(305)
    place = stream.uniform(-1, 1, (80, 2))
    wet = floats(torch, stream.random(80) < 0.7)
    amount = floats(torch, stream.gamma(2 + place[:, 0], 1.0) + 0.05)
    share = floats(torch, stream.beta(2 + place[:, 1], 2.0).clip(0.02, 0.98))
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 5))
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)
    dists, x = torch.distributions, floats(torch, place)
    yield [model]
    while True:
        chance, *others = model(x).unbind(1)
        a, b, c, d = (F.softplus(each) + 0.1 for each in others)
        rain, part, any_ = dists.Gamma(a, b), dists.Beta(c, d), dists.Bernoulli(logits=chance)
        fit = any_.log_prob(wet) + wet * (rain.log_prob(amount) + part.log_prob(share))
        unsure = 0.01 * (any_.entropy() + rain.entropy() + part.entropy())
        yield stepped(-(fit + unsure).mean(), optimizer)
