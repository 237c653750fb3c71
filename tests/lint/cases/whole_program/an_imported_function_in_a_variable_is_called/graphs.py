import torch


def near(points, radius):
    return torch.masked_select(points, points < radius)  # ASG105


def far(points, radius):
    return torch.masked_select(points, points > radius)  # ASG105


def limited(points, radius):
    if (points < 0).any():  # ASG104
        raise ValueError("no distance is negative")
    return points.clamp(max=radius)


def install(model, radius):
    return torch.masked_select(model.points, model.points > radius)
