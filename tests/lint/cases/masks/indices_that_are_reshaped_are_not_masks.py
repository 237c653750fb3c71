import torch


class Select(torch.nn.Module):
    def forward(self, boxes: torch.Tensor, ids: torch.Tensor):
        mask = (ids == 3).nonzero().view(-1)  # ASG105
        odd = (ids == 5).view(-1)
        return boxes[mask], boxes[odd]  # ASG105
