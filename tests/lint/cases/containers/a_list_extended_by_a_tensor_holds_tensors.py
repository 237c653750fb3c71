import torch


def run(model, loader):
    for batch in loader:
        scores = []
        scores.extend(torch.sigmoid(model(batch)))
        best = max(scores).item()  # ASG102, ASG104
