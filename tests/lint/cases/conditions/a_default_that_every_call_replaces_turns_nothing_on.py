import torch


class Gate(torch.nn.Module):
    def __init__(self, width, rounded=True, traced=True):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)
        self.rounded, self.traced = rounded, traced

    def forward(self, x):
        y = self.inner(x)
        if self.rounded:
            y = y / y.max().item()  # clean
        if self.traced:
            self.norm = y.norm().item()  # ASG102
        return y


class Net(torch.nn.Module):
    def __init__(self, width, rounded=False, traced=False):
        super().__init__()
        self.first = Gate(width, rounded=rounded, traced=traced)
        self.second = Gate(width, rounded=rounded)

    def forward(self, x):
        return self.second(self.first(x))


def main():
    return Net(8)
