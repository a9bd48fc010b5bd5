"""REINFORCE with a learnt baseline on a batch of cart-poles that numpy simulates."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class CartPoles:
    def __init__(self, count, seed=0):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros((count, 4), np.float32)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, self.state.shape).astype(np.float32)
        return self.state

    def step(self, action):
        x, v, a, w = self.state.T
        force = np.where(action == 1, 10.0, -10.0)
        temp = (force + 0.05 * w**2 * np.sin(a)) / 1.1
        alpha = (9.8 * np.sin(a) - np.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(a) ** 2 / 1.1))
        accel = temp - 0.05 * alpha * np.cos(a) / 1.1
        self.state = np.stack(
            [x + 0.02 * v, v + 0.02 * accel, a + 0.02 * w, w + 0.02 * alpha], 1
        ).astype(np.float32)
        alive = (np.abs(self.state[:, 0]) < 2.4) & (np.abs(self.state[:, 2]) < 0.21)
        return self.state, alive.astype(np.float32)


class Policy(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.action, self.value = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, state):
        features = self.body(state)
        return self.action(features), self.value(features).squeeze(-1)


def play(env, policy, length):
    state, alive = env.reset(), 1.0
    states, actions, rewards = [], [], []
    for _ in range(length):
        now = torch.from_numpy(state)
        with torch.no_grad():
            # clean:
            logits, _ = policy(now)
            action = torch.distributions.Categorical(logits=logits).sample()
            # planted policy-env-by-env (TDY401, TDY404, TDY406):
            # action = []
            # for row in now:  # at: policy-env-by-env
            #     logits, _ = policy(row.unsqueeze(0))  # at: policy-env-by-env
            #     action.append(logits.softmax(-1).multinomial(1)[0, 0])  # at: policy-env-by-env
            # action = torch.stack(action)
            # end
        state, still = env.step(action.numpy())
        alive = alive * still
        states.append(now)
        actions.append(action)
        rewards.append(torch.from_numpy(alive))
    return torch.stack(states), torch.stack(actions), torch.stack(rewards)


def discounted(rewards, gamma=0.98):
    # clean:
    returns = torch.empty_like(rewards)
    running = torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        returns[t] = running
    # planted returns-quadratic (TDY401, TDY404, TDY406, TDY408):
    # returns = torch.zeros(0, rewards.shape[1])
    # for t in range(len(rewards)):
    #     total = torch.zeros(rewards.shape[1])
    #     for k in range(t, len(rewards)):
    #         total = total + gamma ** (k - t) * rewards[k]  # at: returns-quadratic
    #     returns = torch.cat([returns, total[None]])
    # end
    return returns


def main():
    torch.manual_seed(0)
    env, policy = CartPoles(16), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for episode in range(12):
        states, actions, rewards = play(env, policy, 60)
        returns = discounted(rewards)
        logits, values = policy(states)
        logp = F.log_softmax(logits, -1).gather(-1, actions[..., None]).squeeze(-1)
        advantage = returns - values.detach()
        loss = -(logp * advantage * rewards).mean() + F.mse_loss(values, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 4 == 0:
            length = rewards.sum(0).mean().item()
            print(f"episode {episode} length {length:.1f} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
