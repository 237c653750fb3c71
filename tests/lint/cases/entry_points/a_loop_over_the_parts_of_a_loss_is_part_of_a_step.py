import torch


def discriminator_loss(reals, fakes):
    shown = []
    for one, other in zip(reals, fakes):
        shown.append(torch.mean((one - other) ** 2).item())  # ASG102
    return shown


def discriminator_loss_2(model, batches):
    shown = []
    for one, other in zip(model, batches):
        shown.append(torch.mean((one - other) ** 2).item())  # clean
    return shown
