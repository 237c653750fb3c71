import torch


def train(model, rows):
    for row in rows:
        loss = model(row).sum()
        for name, parameter in model.named_parameters():
            grad = torch.autograd.grad(loss, parameter)
        print(loss)  # ASG101
