import torch


class Quantizer:
    def __init__(self, search=False, bits=4):
        self.search, self.bits = search, bits

    def find(self, x):
        if self.search:
            return x[x > 1]  # clean
        if self.bits:
            return x[x > 2]  # ASG105
        return x


def main(model, loader, optimizer):
    quantizer = Quantizer()
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        quantizer.find(torch.relu(y))
        y.sum().backward()
        optimizer.step()
