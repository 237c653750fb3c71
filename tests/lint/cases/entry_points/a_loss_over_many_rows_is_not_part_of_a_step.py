import torch


def data_loss(model, rows):
    total = torch.zeros((), device="cuda")
    for row in rows:
        total += row.weight
    return total.item()  # clean
