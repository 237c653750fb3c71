import torch


class Watch(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.norm = x.norm()

    def training_step(self, batch):
        if self.norm > 3:  # ASG104
            return None
