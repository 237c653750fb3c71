import torch
from layers import Layer


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(4, normalize=False, prune=True)

    def forward(self, x):
        return self.layer(x)


def main(loader):
    net = torch.compile(Net().cuda())
    for x in loader:
        net(x.cuda()).sum().backward()  # ASG106
