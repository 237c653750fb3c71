import torch


def evaluate(model, loader, evaluator):
    for batch in loader:
        evaluator.process_scores(model(batch))
