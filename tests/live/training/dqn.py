"""Double DQN on a grid world, with a replay buffer and a target network that follows slowly."""

import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SIDE = 8
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Grid:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def observe(self):
        board = np.zeros((2, SIDE, SIDE), np.float32)
        board[0][tuple(self.place)] = board[1][tuple(self.goal)] = 1
        return board.reshape(-1)

    def reset(self):
        self.place, self.goal = self.rng.integers(0, SIDE, (2, 2))
        return self.observe()

    def step(self, action):
        self.place = np.clip(self.place + MOVES[action], 0, SIDE - 1)
        done = bool((self.place == self.goal).all())
        return self.observe(), 1.0 if done else -0.01, done


def make_net():
    layers = [nn.Linear(2 * SIDE * SIDE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 4))


def sample(buffer, size=256):
    states, actions, rewards, following, dones = zip(*random.sample(buffer, size))
    # clean:
    states = torch.from_numpy(np.stack(states))
    following = torch.from_numpy(np.stack(following))
    # planted tensor-from-lists (TDY107, TDY401, TDY409):
    # states = torch.tensor([list(s) for s in states])  # at: tensor-from-lists
    # following = torch.tensor([list(s) for s in following])  # at: tensor-from-lists
    # end
    return states, torch.tensor(actions), torch.tensor(rewards), following, torch.tensor(dones)


def update_target(target, net, tau=0.01):
    # clean:
    with torch.no_grad():
        torch._foreach_lerp_(list(target.parameters()), list(net.parameters()), tau)
    # planted target-state-dict (TDY404, TDY413):
    # mixed = copy.deepcopy(net.state_dict())  # at: target-state-dict
    # for name, value in target.state_dict().items():
    #     mixed[name] = value * (1 - tau) + mixed[name] * tau  # at: target-state-dict
    # target.load_state_dict(mixed)  # at: target-state-dict
    # end


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, buffer = Grid(0), deque(maxlen=5000)
    net = make_net()
    target = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    state, losses = env.reset(), []
    for step in range(280):
        epsilon = max(0.1, 1 - step / 200)
        if random.random() < epsilon:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = net(torch.from_numpy(state)).argmax().item()
        following, reward, done = env.step(action)
        buffer.append((state, action, reward, following, float(done)))
        state = env.reset() if done else following
        if len(buffer) < 256:
            continue
        states, actions, rewards, nexts, dones = sample(buffer)
        with torch.no_grad():
            best = net(nexts).argmax(1, keepdim=True)
            future = target(nexts).gather(1, best).squeeze(1)
            wanted = rewards + 0.97 * (1 - dones) * future
        q = net(states).gather(1, actions[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_target(target, net)
        losses.append(loss.detach())
        if step % 8 == 0:
            print(f"step {step} loss {torch.stack(losses[-8:]).mean().item():.4f}")


if __name__ == "__main__":
    main()
