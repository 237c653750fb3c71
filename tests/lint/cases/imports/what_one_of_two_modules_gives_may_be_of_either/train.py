import os

import torch

if os.environ.get("FAST"):
    from fast import fetch
else:
    from plain import fetch

if os.environ.get("HEADS"):
    from heads.extension import Head
else:
    from fast import Head


def train(model, loader, optimizer):
    head = Head()
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        fetch(loss)
        head(loss)
