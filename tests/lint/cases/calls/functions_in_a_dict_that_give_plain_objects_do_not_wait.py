import torch

CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


@check
def is_flat(loss):
    return loss.dim() == 0


@check
def is_half(loss):
    return loss.dtype == torch.float16


def train(model, loader, optimizer):
    model.cuda()
    for batch in loader:
        loss = model(batch.cuda(non_blocking=True)).sum()
        for name, function in CHECKS.items():
            if function(loss):  # clean
                raise TypeError(name)
        loss.backward()
        optimizer.step()
