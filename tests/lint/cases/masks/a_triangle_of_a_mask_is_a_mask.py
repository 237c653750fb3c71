import torch


class PairLoss(torch.nn.Module):
    def forward(self, features: torch.Tensor, labels: torch.Tensor):
        similar = features @ features.T
        pairs = (labels.unsqueeze(1) == labels.unsqueeze(0)).triu(diagonal=1)
        order = (labels.unsqueeze(1) - labels.unsqueeze(0)).triu(diagonal=1)
        return similar[pairs].mean() + similar[0, order[0]].mean()  # ASG105
