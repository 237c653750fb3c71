import torch
from scipy.optimize import linear_sum_assignment
from torch import nn


class Matcher(nn.Module):
    def forward(self, cost, sizes):
        cost = cost.cpu()  # ASG103
        pairs = [linear_sum_assignment(part) for part in cost.split(sizes, -1)]
        return [(torch.as_tensor(i), torch.as_tensor(j)) for i, j in pairs]


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.matcher = Matcher()

    def joined(self, pairs, others):
        for other in others:
            pairs = [torch.cat([a[0], b[0]]) for a, b in zip(pairs.copy(), other)]
        for pair in pairs:
            index = torch.unique(torch.cat([pair, pair]))  # clean
            print(index[0].item())  # clean
            yield torch.tensor([1, 2], device=index.device)  # clean

    def added(self, x, y):
        return torch.add(x, y).item()  # ASG102

    def forward(self, cost, sizes):
        pairs = self.matcher(cost, sizes)
        rest = []
        rest.append(self.matcher(cost, sizes))
        found = [*self.joined(pairs, rest)]
        zero = torch.zeros(3)
        return len(found), self.added(zero, zero), self.added(cost, cost)
