"""REINFORCE on a toy environment that is pure Python."""

import math
import random

from framework import F, nn, torch

ENVIRONMENTS, MOST_STEPS = 16, 80


class CartPole:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def reset(self):
        self.x, self.v, self.w, self.count = 0.0, 0.0, 0.0, 0
        self.angle = self.random.uniform(-0.05, 0.05)
        return self.observe()

    def observe(self):
        return [self.x, self.v, self.angle, self.w]

    def step(self, action):
        force = 10.0 if action else -10.0
        for _ in range(40):
            c, s = math.cos(self.angle), math.sin(self.angle)
            temp = (force + 0.05 * self.w * self.w * s) / 1.1
            torque = (9.8 * s - c * temp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
            push = temp - 0.05 * torque * c / 1.1
            self.x += 0.0005 * self.v
            self.v += 0.0005 * push
            self.angle += 0.0005 * self.w
            self.w += 0.0005 * torque
        self.count += 1
        done = abs(self.x) > 2.4 or abs(self.angle) > 0.3 or self.count >= MOST_STEPS
        return self.observe(), 1.0, done


def discounted(rewards, gamma=0.99):
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.append(total)
    return returns[::-1]


random.seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
environments = [CartPole(seed) for seed in range(ENVIRONMENTS)]
for episode in range(40):
    states, actions, returns = [], [], []
    observations = [environment.reset() for environment in environments]
    rewards = [[] for _ in environments]
    alive = set(range(ENVIRONMENTS))
    while alive:
        with torch.no_grad():
            odds = F.softmax(policy(torch.tensor(observations)), dim=-1)[:, 1].tolist()
        for i in sorted(alive):
            action = int(random.random() < odds[i])
            states.append(observations[i])
            actions.append(action)
            observations[i], reward, done = environments[i].step(action)
            rewards[i].append(reward)
            if done:
                alive.discard(i)
    for each in rewards:
        returns += discounted(each)
    chosen = F.cross_entropy(policy(torch.tensor(states)), torch.tensor(actions), reduction="none")
    loss = (chosen * torch.tensor(returns)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 0:
        print(f"{episode}: {sum(map(len, rewards)) / ENVIRONMENTS:.1f} steps")
