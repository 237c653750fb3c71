import torch


def inference_on_dataset(model, data_loader, evaluator):
    for inputs in data_loader:
        outputs = model(inputs)
        evaluator.process(inputs, outputs)
