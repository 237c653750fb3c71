# settings: min_probability=default
# clean
import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x, heads, maxk=(1, 5)):
        batch, length, width = x.shape
        k = max(maxk)
        x = self.proj(x).view(batch, length, heads, self.width)
        x = x.repeat(heads, 1).expand(batch, self.length)
        x.topk(k, 1).values.new_empty(batch, self.num_heads, length)
        return torch.reshape(x, (batch, length, self.heads * width))
