"""Proximal policy optimisation on eight simulated carts, with all tensors made in one place."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

CARTS, TIMES = 8, 16


class Cart:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def reset(self):
        self.x, self.speed, self.age = self.random.uniform(-1, 1), 0.0, 0
        return [self.x, self.speed]

    def step(self, action):
        self.speed += (action - 1) * 0.1 - self.x * 0.05
        self.x += self.speed * 0.1
        self.age += 1
        is_over = self.age >= 50 or abs(self.x) > 2
        return self.reset() if is_over else [self.x, self.speed], -abs(self.x), is_over


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, states):
        hidden = self.body(states)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


@torch.no_grad()
def act(agent, states):
    policy, _ = agent(torch.tensor(states))
    actions = policy.sample()
    return actions.tolist(), policy.log_prob(actions)


def main():
    torch.manual_seed(0)
    carts, agent = [Cart(seed) for seed in range(CARTS)], Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, foreach=True)
    states = [cart.reset() for cart in carts]
    for _ in range(8):
        seen, done, taken, chances, rewards = [], [], [], [], []
        for _ in range(TIMES):
            actions, chance = act(agent, states)
            seen.append(states)
            taken.append(actions)
            chances.append(chance)
            results = [cart.step(each) for cart, each in zip(carts, actions)]
            states, reward, is_over = map(list, zip(*results))
            rewards.append(reward)
            done.append(is_over)
        running, returns = [0.0] * CARTS, []
        for reward, is_over in zip(reversed(rewards), reversed(done)):
            kept = zip(reward, running, is_over)
            running = [now + 0.99 * later * (not over) for now, later, over in kept]
            returns.append(running)
        returns = torch.tensor(returns[::-1]).flatten()
        seen, taken = torch.tensor(seen).flatten(0, 1), torch.tensor(taken).flatten()
        before = torch.cat(chances)
        for _ in range(4):
            for at in torch.randperm(CARTS * TIMES).split(64):
                policy, value = agent(seen[at])
                ratio = (policy.log_prob(taken[at]) - before[at]).exp()
                advantage = (returns[at] - value).detach()
                # planted clipped-one-by-one (TDY404):
                # weights = torch.ones(len(at))
                # for i in range(len(at)):
                #     if advantage[i] > 0:  # at: clipped-one-by-one
                #         weights[i] = ratio[i].detach().clamp(max=1.2)
                #     else:
                #         weights[i] = ratio[i].detach().clamp(min=0.8) * 0.9
                # advantage = advantage * weights
                # end
                gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
                optimizer.zero_grad()
                (F.mse_loss(value, returns[at]) - gain.mean()).backward()
                optimizer.step()


main()
