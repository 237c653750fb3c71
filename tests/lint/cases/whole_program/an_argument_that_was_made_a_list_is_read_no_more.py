import torch


def make_mask(lengths, longest=None):
    if not isinstance(lengths, list):
        lengths = lengths.tolist()  # ASG102
    if longest is None:
        longest = int(max(lengths))  # clean
    return torch.arange(longest)


class Encoder(torch.nn.Module):
    def forward(self, x, lengths: torch.Tensor):
        make_mask(lengths)
        return self.proj(x)
