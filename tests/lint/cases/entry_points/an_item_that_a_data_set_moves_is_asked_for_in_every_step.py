import torch
from torch.utils.data import Dataset


class Memory(Dataset):
    def __init__(self, data, device):
        self.data, self.device = data, device

    def __getitem__(self, i):
        return tuple(t[i].to(self.device) for t in self.data)  # ASG106


class Pairs(Dataset):
    def __getitem__(self, i):
        return self.read(i).to(torch.float32)


class Table:
    def __getitem__(self, i):
        return self.rows[i].to(self.device)  # clean
