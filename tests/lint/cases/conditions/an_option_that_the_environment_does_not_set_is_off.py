import os

import torch

CONTRACTS = os.environ.get("NET_CONTRACTS") == "1" or os.getenv("NET_LEVEL", "0") == "2"
CHECKED = bool(int(os.environ.get("NET_CHECKED", "0")))
FAST = os.environ.get("NET_FAST", "1") == "1"
LOUD = os.getenv("NET_LOUD", "false").lower() in ("1", "true")
os.environ["NET_LOUD"] = "true"


class Net(torch.nn.Module):
    def forward(self, x):
        if CONTRACTS:
            self.norm = x.norm().item()  # clean
        if CHECKED:
            self.norm = x.norm().item()  # clean
        if FAST:
            self.norm = x.norm().item()  # ASG102
        if LOUD:
            self.norm = x.norm().item()  # ASG102
        return x
