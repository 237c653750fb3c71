import torch


class Net(torch.nn.Module):
    def __init__(self, quantized=False):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.quantized = quantized

    def forward(self, x):
        y = self.inner(x)
        if not self.quantized:
            return y
        return y / y.max().item()  # clean
