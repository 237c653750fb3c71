import torch


def run(model, loader):
    for x in loader:
        scores = model(x)
        scores_cpu = scores.cpu()  # ASG103
        best = scores_cpu.max().item()  # clean
        print(best, scores_cpu.mean())  # clean
