"""A call that stands behind a word, or an option, is made only where a way into a region gives it."""

import torch


def by_mask(points, near):
    return points[near]  # clean


def by_place(points, near):
    return points[torch.where(near)]  # ASG502


def by_count(points, near):
    return torch.unique(points)  # ASG105


def refine(points, near, scheme="linear", levels=1):
    if levels == 2:
        points = by_count(points, near)
    if scheme == "linear":
        return points * 2
    elif scheme == "butterfly":
        return by_mask(points, near)
    elif scheme in ("loop", "place"):
        return by_place(points, near)
    raise ValueError(scheme)


def spread(points, near, scheme):
    return refine(points, near, scheme=scheme)


@torch.compile
def step(points):
    points = refine(points, points > 0)
    return spread(points, points > 1, "loop")


def around(points, near):
    return points[near]  # clean


def gradient(points, near, intrinsic=False):
    if intrinsic and points.ndim > 2:
        return around(points, near)
    return points - near


def reduced(loss, mask, reduction):
    if reduction != "none":
        return loss.mean()
    return loss[mask]  # clean


@torch.compile
def other(points):
    return reduced(gradient(points, points > 0), points > 1, "mean")


def main(model):
    for batch in model.loader:
        points = batch.cuda()  # ASG106
        step(points).sum().backward()
        other(points).backward()
