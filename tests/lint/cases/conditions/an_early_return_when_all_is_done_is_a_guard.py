import torch


class Codec(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.gather(x)
        self.measure(x)
        return x

    def gather(self, x: torch.Tensor):
        if self.frozen:
            return
        if self.updates.item() > 100:  # clean
            self.frozen = True
        self.mean = x.mean().item()  # clean

    def measure(self, x: torch.Tensor):
        if self.quiet:
            return
        self.level = x.mean().item()  # ASG102
