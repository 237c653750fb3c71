import torch


class Loss(torch.nn.Module):
    def forward(self, x: torch.Tensor, weights: torch.Tensor):
        classes = x.unique().cpu().numpy()  # ASG103, ASG105
        for label in classes:
            weights[label] += 1
        for batch in classes:
            weights[batch] += 1  # ASG106
