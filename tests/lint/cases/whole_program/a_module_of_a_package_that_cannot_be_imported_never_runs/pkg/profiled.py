import torch


@profile
def train(model, loader):
    for x in loader:
        print(model(x).sum())  # ASG101


class Net(Exception, torch.nn.Module):
    def forward(self, x):
        return x.sum().item()  # ASG102
