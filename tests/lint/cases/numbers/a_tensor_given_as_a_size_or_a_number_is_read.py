import torch
from torch import nn


def train(model, loader, optimizer):
    model.cuda()
    for x, y in loader:
        x = x.cuda(non_blocking=True)
        out = model(x)
        loss = nn.functional.cross_entropy(out, y.cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
        n = out.argmax()
        torch.zeros(4, n)  # ASG102
        x.view(n, -1)  # ASG102
        x.expand(n, 3)  # ASG102
        x.repeat(n, 1)  # ASG102
        x.new_zeros((2, n))  # ASG102
        out.topk(k=n)  # ASG102
        out.split(n)  # ASG102
        nn.functional.pad(x, (0, n))  # ASG102
        torch.add(x, x, alpha=loss.mean())  # ASG102
