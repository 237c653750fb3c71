import torch


class Attention(torch.nn.Module):
    def forward(self, x, output_attentions: torch.Tensor | None = False, keep: torch.Tensor = None):
        if not output_attentions:  # clean
            x = x + 1
        if keep.any():  # ASG104
            return x
        return x + 1
