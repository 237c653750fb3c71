import numpy as np
import torch


def features(model, loader, on_device):
    kept = torch.empty(9, device="cuda") if on_device else np.empty(9)
    for i, x in enumerate(loader):
        y = model(x.cuda(non_blocking=True))
        kept[i] = y.cpu().numpy()  # ASG103
