import torch


class Pool(torch.nn.Module):
    def forward(self, hidden, mask: torch.Tensor):
        for i, length in enumerate(mask.sum(-1)):
            self.kept.append(hidden[i, :length].mean(0))  # ASG105
