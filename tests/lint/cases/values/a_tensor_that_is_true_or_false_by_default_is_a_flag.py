import torch


class Attention(torch.nn.Module):
    def forward(self, x, output_attentions: torch.Tensor | None = False, keep: torch.Tensor = None):
        if not output_attentions:  # clean
            return x
        if keep.any():  # ASG104
            return x
        return x + 1
