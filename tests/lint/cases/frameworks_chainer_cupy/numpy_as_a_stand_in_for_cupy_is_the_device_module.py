from settings import gpu

if gpu:
    import cupy as np
else:
    import numpy as np


def train(model, optimizer, ids):
    for step in range(100):
        model.backward()
        norm = np.sqrt(np.sum(model.grad**2))
        if norm < 1:  # ASG104
            norm = norm + np.zeros(10)[list(ids)]  # ASG106
        optimizer.update()
