import torch


class Model(torch.nn.Module):
    def forward(self, input_ids: torch.Tensor = None, embeds: torch.Tensor = None, attention_mask=None):
        if input_ids is None:
            start = embeds.max().item()  # clean
        else:
            start = input_ids.max().item()  # ASG102
        if attention_mask is not None and embeds is not None:
            start += embeds.min().item()  # ASG102
        elif embeds is not None:
            start += embeds.mean().item()  # ASG102
        if attention_mask is not None:
            return start
        return start + self.lengths_of(embeds)

    def masked(self, x: torch.Tensor):
        attention_mask = self.make(x)
        if attention_mask is None:
            return x

    def lengths_of(self, x: torch.Tensor):
        return x.sum().item()  # clean
