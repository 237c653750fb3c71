import torch


class Layer(torch.nn.Module):
    def forward(self, x, past_key_values=None, use_cache=True, mask=None):
        if use_cache and past_key_values is None:
            past_key_values = Cache(torch.tensor([0, 1], device=x.device))  # clean
        if mask is None:
            mask = torch.tensor([1, 1], device=x.device)  # ASG106
        if past_key_values is None:
            x = x + torch.tensor([1, 1], device=x.device)  # ASG106
        return x * mask, past_key_values
