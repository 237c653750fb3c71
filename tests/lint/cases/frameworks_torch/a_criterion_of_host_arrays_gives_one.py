import torch
from torch import nn


def train(model, loader, optimizer):
    ctc = nn.CTCLoss()
    model = model.cuda()
    for x, y in loader:
        scores = model(x.cuda())  # ASG106
        host = scores.cpu()  # ASG103
        loss = ctc(host, y)
        loss.backward()
        optimizer.step()
        print(loss.item())  # clean
        print(ctc(scores, y).item())  # ASG102
