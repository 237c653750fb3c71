import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)

    def decode(self, x):
        return self(x).argmax(1).cpu().numpy()  # ASG103

    def evaluate(self, loader):
        return self(next(loader)).cpu()  # clean

    def show(self, x):
        return self.layer(x).cpu()  # clean
