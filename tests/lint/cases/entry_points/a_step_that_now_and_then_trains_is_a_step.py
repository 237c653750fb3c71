"""An agent stores what happened in each step, and trains for epochs once it has stored enough.

What always loops over steps of training is a round of its own, whatever it is called.
"""

import torch
from torch import nn


class Agent:
    def __init__(self, size, length):
        self.net = nn.Linear(size, size).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.length = length
        self.count = 0
        self.kept = []

    def step_batch(self, states, rewards):
        self.kept.append(torch.as_tensor(rewards, device="cuda"))  # ASG106
        self.count += 1
        actions = self.net(states)
        if self.count * len(rewards) >= self.length:
            self.improve()
            self.count = 0
        return actions.cpu().numpy()  # ASG103

    def improve(self):
        data = torch.stack(self.kept)
        for _ in range(10):
            for start in range(0, self.length, 64):
                self.optimizer.zero_grad()
                self.net(data[start : start + 64]).sum().backward()
                self.optimizer.step()


class Trainable:
    def __init__(self, net, optimizer, data):
        self.net, self.optimizer, self.data = net, optimizer, data

    def step(self):
        for batch in torch.utils.data.DataLoader(self.data):
            loss = self.net(batch).sum()
            loss.backward()
            self.optimizer.step()
        return loss.item()  # clean
