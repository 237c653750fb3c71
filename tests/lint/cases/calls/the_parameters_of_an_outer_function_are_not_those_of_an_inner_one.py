# clean

import torch


def run_between(start, end, functions):
    def run(x):
        for i in range(start, end):
            x = functions[i](x)
        return x

    return run


def train(model, loader):
    run = run_between(0, 3, model.blocks)
    for batch in loader:
        loss = model(batch)
        loss.backward()
        run(loss)
