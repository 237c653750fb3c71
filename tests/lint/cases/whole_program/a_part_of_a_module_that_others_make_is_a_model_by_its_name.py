# settings: min_confidence=low min_probability=0.15
import torch
from torch import nn


class Diffusion(nn.Module):
    def p_sample(self, x, t):
        y = self.model(x, t)
        print(y.mean())  # ASG101
        return y

    def p_sample_loop(self, n, device):
        x = torch.randn(n, device=device)
        for t in range(self.T):
            x = self.p_sample(x, t)
        return x
