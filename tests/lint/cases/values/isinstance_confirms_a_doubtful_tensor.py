import torch


def train(model, loader, flag):
    for batch in loader:
        losses = model(batch)
        sum(losses.values()).backward()
        losses["time"] = 0.5
        print({k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in losses.items()})  # ASG103
