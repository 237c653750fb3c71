import torch


def check(value, refuse, note):
    if refuse(value):  # ASG104
        raise RuntimeError(note)


def check_shape(value, refuse):
    if refuse(value):  # clean
        raise RuntimeError("shape")


def is_flat(value):
    return len(value.shape) == 1


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x.cuda(non_blocking=True)).sum()
        check(loss, refuse=torch.isinf, note="the loss is infinite")
        check_shape(loss, is_flat)
        loss.backward()
        optimizer.step()
