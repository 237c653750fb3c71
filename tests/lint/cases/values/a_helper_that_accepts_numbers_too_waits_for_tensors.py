import numbers, torch


def is_nan(x):
    if isinstance(x, numbers.Number):
        return x != x
    return torch.isnan(x).any()


def train(model, loader):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        if is_nan(loss):  # ASG104
            continue
