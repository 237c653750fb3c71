# clean

import torch


class Net(torch.nn.Module):
    def forward(self, inputs: list):
        return inputs[0].to(self.device)
