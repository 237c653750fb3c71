import torch


def evaluate(model, loader, args):
    for x in loader:
        if x.size(0) != args.batch_size:
            continue
        states.append(model(x).cpu())  # ASG103
