import torch


def evaluate(model, loaders):
    for name, loader in enumerate(loaders):
        for batch in loader:
            score = model(batch)
        print(score.item())  # clean
