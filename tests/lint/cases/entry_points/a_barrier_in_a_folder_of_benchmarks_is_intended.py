# path: pkg/benchmark/base.py

import torch


def run(model, xs):
    for x in xs:
        loss = model(x).sum()
        loss.backward()
        torch.cuda.synchronize()  # clean
