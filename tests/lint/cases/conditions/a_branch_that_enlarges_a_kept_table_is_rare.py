import torch


class Positions(torch.nn.Module):
    def forward(self, ids, past=0):
        longest = self.padding + ids.shape[1] + past
        if longest > self.table.size(0):
            self.table = torch.tensor(self.rows(longest), device=ids.device)  # clean
        if self.weights.shape[0] < longest:
            self.make_weights(longest, ids.device)
        if longest >= self.angles.shape[0]:
            angles = torch.tensor(self.rows(longest), device=ids.device)  # clean
            self.register_buffer("angles", angles)
        if longest > self.limit:
            ids = ids + torch.tensor(self.rows(longest), device=ids.device)  # ASG106
        return self.table[ids] + self.weights[ids] + self.angles[ids]

    def make_weights(self, count, device):
        self.weights = torch.tensor([[1.0] * count], device=device)  # clean
