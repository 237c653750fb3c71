import torch


def weigh(maps, xs):
    xs = xs.to(maps.device)  # ASG106
    return (maps * xs).sum(-1)


def declared(maps: torch.Tensor, xs: torch.Tensor):
    xs = xs.to(maps.device)  # ASG106
    return (maps * xs).sum(-1)


def from_the_model(maps, xs):
    xs = xs.to(maps.device)  # clean
    return (maps * xs).sum(-1)


def all_on_the_host(maps, xs):
    xs = xs.to(maps.device)  # clean
    return (maps * xs).sum(-1)


def by_the_framework(module, args, xs):
    return xs.to(args[0].device)  # clean
