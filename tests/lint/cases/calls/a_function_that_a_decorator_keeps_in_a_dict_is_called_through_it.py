import torch

CHECKS, HOOKS, METRICS = {}, [], {}
SHOWN = {}


def check(name):
    def add(function):
        CHECKS[name] = function
        return function

    return add


def metric(function):
    METRICS[function.__name__] = function
    return function


def hook(function, order=0):
    HOOKS.append((order, function))


@check("nan")
def is_nan(loss):
    return torch.isnan(loss).any()  # clean


@check("dead")
def is_dead(loss):
    return loss == 0


@metric
def rank(scores):
    return scores.nonzero().sum()  # ASG105


@metric
def spread(scores):
    return scores.std()


def tell(loss):
    print(loss.item())  # ASG102


hook(tell)


def shown(function):
    SHOWN[function.__name__] = function
    return function


@shown
def summary(losses):
    print(losses.mean().item())  # clean


def train(model, loader, optimizer, chosen):
    model.cuda()
    for batch in loader:
        scores = model(batch.cuda(non_blocking=True))
        loss = scores.sum()
        for name, function in CHECKS.items():
            if function(loss):  # ASG104
                raise FloatingPointError(name)
        for order, function in HOOKS:
            function(loss)
        METRICS[chosen](scores)
        loss.backward()
        optimizer.step()
    SHOWN[chosen](loss)
