import torch


def evaluate(model, loader, evaluator):
    if model(batch := loader[0]) is not None:
        evaluator.process_scores(model(batch))
