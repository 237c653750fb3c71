import torch

HOOKS = {}


def hook(name):
    def wrap(cls):
        HOOKS[name] = cls
        return cls

    return wrap


@hook("csv")
class Rows:
    def __call__(self, out):
        print(float(out["loss"]))  # ASG102


@hook("guard")
class Guard:
    def __call__(self, out):
        if out["loss"] > 3:  # ASG104
            print("spike")


def build(names):
    return [HOOKS[name]() for name in names]


def main(loader, model, optimizer):
    hooks = build(["csv", "guard"])
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        for each in hooks:
            each({"loss": loss.detach()})
