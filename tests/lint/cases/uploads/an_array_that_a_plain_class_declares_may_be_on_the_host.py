from dataclasses import dataclass

import torch


@dataclass
class Recording:
    codes: torch.Tensor
    padding: int


class Held(torch.nn.Module):
    codes: torch.Tensor


class Codec(torch.nn.Module):
    def decompress(self, recording: Recording, size):
        codes = recording.codes
        for i in range(0, codes.shape[-1], size):
            part = codes[..., i : i + size].to(self.device)  # ASG106
            self.decode(part)

    def decompress_held(self, held: Held, size):
        codes = held.codes
        for i in range(0, codes.shape[-1], size):
            part = codes[..., i : i + size].to(self.device)  # clean
            self.decode(part)
