import torch


class Blur(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.prepare(x)
        self.weights(x)
        self.measure(x)
        return x * self.scale

    def prepare(self, x: torch.Tensor):
        if self.scale is not None:
            return
        self.scale = x.mean().item()

    def weights(self, x: torch.Tensor):
        if hasattr(self, "kept"):
            return self.kept
        self.kept, self.n = x.mean().item(), 1
        return self.kept

    def measure(self, x: torch.Tensor):
        if self.quiet is not None:
            return
        self.level = x.mean().item()  # ASG102
