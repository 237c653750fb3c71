import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.books = config.books

    @classmethod
    def of_config(cls, config):
        return cls(config)


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.decoder = Decoder.of_config(config)

    def forward(self, codes: torch.Tensor):
        if codes.shape[1] == self.decoder.books // 2:  # clean
            codes = codes.repeat(1, 2)
        if self.decoder(codes) > 0:  # ASG104
            codes = codes * 2
        return codes
