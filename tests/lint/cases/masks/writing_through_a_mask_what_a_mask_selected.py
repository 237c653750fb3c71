import torch


class Assigner(torch.nn.Module):
    def forward(self, cost):
        return self.matching(cost, torch.zeros_like(cost) > 0)

    def matching(self, cost, mask):
        chosen = torch.zeros_like(cost) > 1
        mask[mask.clone()] = chosen  # ASG105
        return mask
