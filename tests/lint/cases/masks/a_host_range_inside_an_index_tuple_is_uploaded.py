import torch


def train(model, loader):
    for x in loader:
        x = x.cuda(non_blocking=True)
        first = torch.arange(x.shape[0]), x.argmax(1)
        model(x[first]).sum().backward()  # ASG106
