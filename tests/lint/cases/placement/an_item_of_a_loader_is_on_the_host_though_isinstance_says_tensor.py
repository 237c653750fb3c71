import torch
from torch.utils.data import DataLoader


def run(model, loader: DataLoader):
    for x, names in loader:
        y = model(x.cuda())  # ASG106
        if isinstance(names, torch.Tensor):
            names.tolist()
        y.tolist()  # ASG102
