import torch


class Tracker(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if "ids" not in self.state:
            self.begin(x)
        if "sums" not in self.state:
            self.count(x)
        return self.net(x)

    def begin(self, x: torch.Tensor):
        self.state["ids"] = self.net(x).sum().item()  # clean

    def count(self, x: torch.Tensor):
        self.total = self.net(x).sum().item()  # ASG102
