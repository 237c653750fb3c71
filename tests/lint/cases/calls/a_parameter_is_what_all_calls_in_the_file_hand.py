import torch
from torch import nn


class Lattice:
    def __init__(self, size):
        self.f = torch.zeros(size, size, device="cuda")
        self.names = ["a", "b"]

    def step(self):
        self.f = torch.roll(self.f, 1, 0)


class History:
    def __init__(self, lattice):
        self.lattice, self.rows = lattice, []

    def record(self):
        lattice = self.lattice
        self.rows.append(lattice.f.sum().item())  # ASG102
        self.rows.append(float(len(lattice.names)))  # clean


class Sum:
    def __init__(self, parts):
        self.parts = parts

    def record(self):
        return [part.f.sum().item() for part in self.parts]  # ASG102


class Speculator:
    def __init__(self, target, draft, table):
        self.target, self.draft, self.table = target, draft, table

    def run(self, ids: torch.Tensor, end, limit):
        while ids.shape[0] < limit:
            fresh = self.target(self.draft(ids))[-1:].argmax(-1)
            ids = torch.cat([ids, fresh])
            if (fresh == end).any():  # ASG104
                break
        return ids


class Unsure:
    def __init__(self, lattice):
        self.lattice = lattice

    def record(self):
        if self.lattice.f > 3:  # clean
            return 1


def examine(lattice, *, count):
    if lattice.f.max() > 3:  # ASG104
        return None
    return lattice


def run(net: nn.Module, draft, ids, other, steps):
    first, second = Lattice(9), Lattice(3)
    history, every = History(first), Sum([first, second])
    unsure, also = Unsure(first), Unsure(other)
    speculator = Speculator(net.to("cuda"), draft.to("cuda"), other)
    for step in range(steps):
        first.step()
        history.record()
        every.record()
        unsure.record()
        also.record()
        examine(first, count=step)
    speculator.run(ids, 2, 99)
