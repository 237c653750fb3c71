import torch


def load(param, weight: torch.Tensor):
    packed_dim = getattr(weight, "packed_dim", None)
    if packed_dim == getattr(weight, "output_dim", None):  # clean
        return weight.narrow(packed_dim, 0, 1)  # clean
    grad = getattr(weight, "grad", None)
    return bool(grad.sum())  # ASG104


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        load(x, loss)
