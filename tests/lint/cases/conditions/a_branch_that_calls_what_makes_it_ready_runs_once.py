import torch
from torch import nn


class Biased(nn.Module):
    def forward(self, scores: torch.Tensor):
        if not self.ready:
            self.prepare(scores)
        return scores + self.bias

    def prepare(self, scores: torch.Tensor):
        self.bias = torch.tensor(self.numbers, device=scores.device)  # clean
        self.ready = True


class Stepping(nn.Module):
    def forward(self, scores: torch.Tensor):
        if not self.done:
            self.step(scores)
        return scores

    def step(self, scores: torch.Tensor):
        loss = self.net(scores).sum()
        loss.backward()
        self.done = loss.item() < 0.1  # ASG102


class Told(nn.Module):
    def forward(self, scores: torch.Tensor):
        if not self.quiet:
            self.tell(scores)
        return scores

    def tell(self, scores: torch.Tensor):
        print(scores)  # ASG101
