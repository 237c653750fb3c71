import torch


class Prior:
    def sample(self, n):
        return torch.tensor(self.states[:n], device=self.device)  # clean
