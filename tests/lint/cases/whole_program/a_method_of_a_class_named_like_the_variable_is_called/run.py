import torch


def draw(kernel, model, batches):
    for batch in batches:
        state = model(batch)
        kernel.sample(state)
