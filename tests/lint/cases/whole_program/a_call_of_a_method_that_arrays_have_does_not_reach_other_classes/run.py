import torch


def evaluate(model, loader, evaluator):
    for batch in loader:
        evaluator.squeeze(model(batch))
