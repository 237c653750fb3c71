import torch


class Model(torch.nn.Module):
    def forward(self, input_ids: torch.Tensor = None, embeds: torch.Tensor = None, mask=None):
        if input_ids is None:
            start = embeds.max().item()  # clean
        else:
            start = input_ids.max().item()  # ASG102
        if input_ids is not None and mask is not None:
            start += embeds.min().item()  # ASG102
        elif embeds is not None:
            start += embeds.mean().item()  # ASG102
        if mask is None:
            start += embeds.std().item()  # ASG102
        if input_ids is not None:
            return start
        return start + self.lengths_of(embeds)

    def masked(self, x: torch.Tensor):
        input_ids = self.make(x)
        if input_ids is None:
            return x

    def lengths_of(self, x: torch.Tensor):
        return x.sum().item()  # clean
