import numpy as np


def scores(model, loader):
    found = []
    for batch, target in loader:
        found.append(model.predict(batch).cpu().numpy() - target)  # ASG103
    return np.concatenate(found)
