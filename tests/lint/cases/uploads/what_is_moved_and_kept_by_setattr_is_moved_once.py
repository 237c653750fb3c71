# settings: min_probability=default
import torch


class Rotary(torch.nn.Module):
    def forward(self, x, layer):
        frequencies = getattr(self, f"{layer}_frequencies")
        frequencies = frequencies.to(self.device)  # clean
        setattr(self, f"{layer}_frequencies", frequencies)
        scale = getattr(self, f"{layer}_scale")
        return x * frequencies * scale.to(self.device)  # ASG106
