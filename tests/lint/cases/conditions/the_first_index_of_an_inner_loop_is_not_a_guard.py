import torch


class Net(torch.nn.Module):
    def forward(self, x):
        out = self.layers(x)
        for i in range(len(out)):
            if i == 0:
                p = out[i].cpu()  # ASG103
        return p


class Net2(torch.nn.Module):
    def forward(self, x):
        out = self.layers(x)
        for i in range(len(out)):
            if i % 9 == 0:
                p = out[i].cpu()  # clean
        return p
