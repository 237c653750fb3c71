import torch


class Base(torch.nn.Module):
    @classmethod
    def from_config(cls, config):
        model = cls(config)
        return model


class Vision(Base):
    def forward(self, x: torch.Tensor, mask=None, scale=None):
        if mask is None:
            mask = torch.ones(3).to(x.device)  # clean
        if scale is None:
            scale = torch.ones(3).to(x.device)  # ASG106
        return x * mask * scale


class Text(Base):
    def forward(self, x: torch.Tensor, mask=None):
        if mask is not None:
            x = x * mask
        else:
            x = x * torch.ones(3).to(x.device)  # ASG106
        return x

    def embed(self, x: torch.Tensor):
        return self(x, mask=x > 0)  # which others need not do


class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.vision = Vision.from_config(config)

    def forward(self, x: torch.Tensor, mask=None, scale=None):
        if mask is None:
            mask = x > 0
        return self.vision(x, mask=mask, scale=scale)
