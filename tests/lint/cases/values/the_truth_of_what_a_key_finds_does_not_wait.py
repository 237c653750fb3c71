# settings: min_probability=0.4
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, pixels: torch.Tensor, outputs: torch.Tensor | None = None):
        outputs = outputs if outputs is not None else {}
        if isinstance(outputs, dict) and outputs.get("image"):  # clean
            return outputs["image"]
        if pixels.sum() > 3:  # ASG104
            return pixels
        return self.encode(pixels)
