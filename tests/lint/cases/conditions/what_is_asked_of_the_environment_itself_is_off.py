import os

import torch

os.environ["NET_LOUD"] = "1"


class Net(torch.nn.Module):
    def forward(self, x):
        if os.getenv("NET_DUMP"):
            torch.save(x.cpu(), "x.pt")  # clean
        if os.environ.get("NET_LEVEL", "0") == "2" and self.training:
            self.norm = x.norm().item()  # clean
        if bool(int(os.environ.get("NET_CHECKED", "0"))):
            self.norm = x.norm().item()  # clean
        if os.getenv("NET_LOUD"):
            self.norm = x.norm().item()  # ASG102
        if os.getenv("NET_FAST", "1") == "1":
            self.norm = x.norm().item()  # ASG102
        if not os.getenv("NET_QUIET"):
            self.norm = x.norm().item()  # ASG102
        return x
