import torch
from torch import nn


class Sampler(nn.Module):
    def forward(self, maps: torch.Tensor, keypoints: torch.Tensor):
        out = torch.zeros((3, 4), device=maps.device)
        out[0, :3] = self.sample(keypoints, maps)  # clean
        return out

    def sample(self, keypoints, maps):
        size = torch.tensor([[1.0, 2.0]])
        keypoints = keypoints / size.to(keypoints)  # ASG106
        return nn.functional.grid_sample(maps, keypoints)
