"""Reinforcement learning: actors and critics in small worlds that numpy computes."""

from collections import deque
from functools import partial

import numpy as np

from .common import floats, stepped


class Pole:
    """A pole that falls unless it is pushed: `(angle, speed)`, two actions, ends when it lies."""

    def __init__(self, seed):
        self.stream = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.state = self.stream.uniform(-0.2, 0.2, 2)
        return self.state.copy()

    def step(self, action):
        angle, speed = self.state
        speed += 0.05 * (3 * np.sin(angle) + (4.0 if action else -4.0))
        self.state = np.array([angle + 0.05 * speed, speed])
        return self.state.copy(), float(np.cos(self.state[0])), abs(self.state[0]) > 0.8


def drawn(stream, probs):
    """A choice by numpy, with the probabilities of a row."""
    return int(np.searchsorted(np.cumsum(probs), stream.random() * 0.999))


def reinforce(torch, nn, F):
    """Log-probabilities of an episode's actions, by normalised returns."""
    world, stream = Pole(90), np.random.default_rng(91)

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1, self.affine2 = nn.Linear(2, 16), nn.Linear(16, 2)
            self.saved_log_probs, self.rewards = [], []

        def forward(self, x):
            return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=1)

    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    eps = np.finfo(np.float32).eps.item()
    yield [policy]
    while True:
        state = world.reset()
        for _ in range(12):
            probs = policy(floats(torch, state).unsqueeze(0))
            m = torch.distributions.Categorical(probs)
            action = torch.tensor([drawn(stream, probs[0].tolist())])
            policy.saved_log_probs.append(m.log_prob(action))
            state, reward, done = world.step(action.item())
            policy.rewards.append(reward)
            if done:
                break
        total, returns = 0.0, deque()
        for r in policy.rewards[::-1]:
            total = r + 0.95 * total
            returns.appendleft(total)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        loss = [-p * r for p, r in zip(policy.saved_log_probs, returns, strict=True)]
        del policy.rewards[:], policy.saved_log_probs[:]
        yield 3 + stepped(torch.cat(loss).sum(), optimizer)


def deep_q(torch, nn, F):
    """Double Q-learning with replay, a target net and duelling heads."""
    world, stream = Pole(93), np.random.default_rng(94)
    memory = deque(maxlen=200)

    class DQN(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer2 = nn.Linear(2, 24), nn.Linear(24, 24)
            self.value, self.gain = nn.Linear(24, 1), nn.Linear(24, 2)

        def forward(self, x):
            x = self.layer2(self.layer1(x).relu()).relu()
            gain = self.gain(x)
            return self.value(x) + gain - gain.mean(dim=1, keepdim=True)

    policy_net, target_net = DQN(), DQN()
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    criterion = nn.SmoothL1Loss()
    clip = partial(nn.utils.clip_grad_value_, list(policy_net.parameters()), 100)
    yield [policy_net]
    target_net.load_state_dict(policy_net.state_dict())
    state = world.reset()
    for step in range(10_000):
        for _ in range(4 if step else 40):
            with torch.no_grad():
                best = policy_net(floats(torch, state)[None]).max(1).indices.item()
            action = best if stream.random() > 0.3 else int(stream.integers(2))
            after, reward, done = world.step(action)
            memory.append((state, action, reward, after, done))
            state = world.reset() if done else after
        batch = [memory[i] for i in stream.integers(0, len(memory), 24)]
        s, a, r, then, done = (np.array(column) for column in zip(*batch, strict=True))
        said = policy_net(floats(torch, s)).gather(1, torch.tensor(a)[:, None])
        goes_on = ~torch.tensor(done)
        following = torch.zeros(24)
        with torch.no_grad():
            kept = floats(torch, then)[goes_on]
            pick = policy_net(kept).argmax(1, keepdim=True)
            following[goes_on] = target_net(kept).gather(1, pick).squeeze(1)
        loss = criterion(said, (following * 0.9 + floats(torch, r)).unsqueeze(1))
        told = stepped(loss, optimizer, clip=clip)
        held, given = target_net.state_dict(), policy_net.state_dict()
        for key in given:
            held[key] = given[key] * 0.1 + held[key] * 0.9
        target_net.load_state_dict(held)
        yield told


def proximal_policy(torch, nn, F):
    """Advantages by exponential averages, clipped ratios, a few epochs over each rollout."""
    world, stream = Pole(95), np.random.default_rng(96)
    actor = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    learned = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(
        [{"params": actor.parameters()}, {"params": critic.parameters(), "lr": 1e-2}], lr=5e-3
    )
    clip = partial(nn.utils.clip_grad_norm_, learned, 0.5, float("inf"))
    yield [actor, critic]
    state = world.reset()
    while True:
        rollout = []
        with torch.no_grad():
            for _ in range(24):
                policy = torch.distributions.Categorical(logits=actor(floats(torch, state)))
                action = torch.tensor(drawn(stream, policy.probs.tolist()))
                value = critic(floats(torch, state)).item()
                after, reward, done = world.step(action.item())
                rollout.append((state, action, policy.log_prob(action), value, reward, done))
                state = world.reset() if done else after
            last = critic(floats(torch, state)).item()
        states, actions, logs, values, rewards, ends = zip(*rollout, strict=True)
        advantages, running = np.zeros(24), 0.0
        for t in reversed(range(24)):
            later = values[t + 1] if t < 23 else last
            delta = rewards[t] + 0.95 * later * (1 - ends[t]) - values[t]
            advantages[t] = running = delta + 0.9 * (1 - ends[t]) * running
        x, taken, old = floats(torch, states), torch.stack(actions), torch.stack(logs)
        gain, wanted = floats(torch, advantages), floats(torch, advantages + np.array(values))
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        total = 0.0
        for rows in torch.tensor(stream.permutation(24)).split(12):
            policy = torch.distributions.Categorical(logits=actor(x[rows]))
            ratio = (policy.log_prob(taken[rows]) - old[rows]).exp()
            surrogate = torch.min(
                ratio * gain[rows], torch.clamp(ratio, 1 - 0.2, 1 + 0.2) * gain[rows]
            )
            loss = -surrogate.mean() - 0.01 * policy.entropy().mean()
            loss = loss + 0.5 * F.mse_loss(critic(x[rows]).flatten(), wanted[rows])
            total += stepped(loss, optimizer, clip=clip)
        yield total


def soft_actor_critic(torch, nn, F):
    """Squashed normal actions, two critics that lag behind, a temperature that is learned."""
    stream = np.random.default_rng(97)

    def net(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, outputs))

    actor, critics, lagging = net(2, 2), nn.ModuleList([net(3, 1), net(3, 1)]), None
    log_alpha = torch.zeros(1, requires_grad=True)
    optimizers = [
        torch.optim.Adam(learned, lr=5e-3)
        for learned in (actor.parameters(), critics.parameters(), [log_alpha])
    ]
    yield [actor, critics]

    def acted(state):
        mean, log_std = actor(state).chunk(2, dim=-1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        raw = normal.mean + normal.stddev * floats(torch, stream.normal(size=tuple(mean.shape)))
        action = torch.tanh(raw)
        return action, (normal.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)

    def judged(critics, state, action):
        both = [critic(torch.cat([state, action], -1)).squeeze(-1) for critic in critics]
        return both, torch.minimum(*both)

    lagging = nn.ModuleList([net(3, 1), net(3, 1)]).requires_grad_(False)
    lagging.load_state_dict(critics.state_dict())
    while True:
        state = floats(torch, stream.normal(size=(32, 2)))
        with torch.no_grad():
            action, _ = acted(state)
            after = 0.9 * state + 0.3 * action
            reward = -after.square().sum(-1)
            following, log_prob = acted(after)
            future = judged(lagging, after, following)[1] - log_alpha.exp() * log_prob
            wanted = reward + 0.9 * future
        both, _ = judged(critics, state, action)
        critic_loss = F.mse_loss(both[0], wanted) + F.mse_loss(both[1], wanted)
        told = stepped(critic_loss, optimizers[1])
        chosen, log_prob = acted(state)
        actor_loss = (
            log_alpha.exp().detach() * log_prob - judged(critics, state, chosen)[1]
        ).mean()
        stepped(actor_loss, optimizers[0])
        stepped(-(log_alpha * (log_prob.detach() - 1.0)).mean(), optimizers[2])
        with torch.no_grad():
            for slow, fast in zip(lagging.parameters(), critics.parameters(), strict=True):
                slow.data.mul_(0.95).add_(fast.data, alpha=0.05)
        yield told
