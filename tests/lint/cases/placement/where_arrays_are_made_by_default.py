import torch


def host(loader, model, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        weights = torch.zeros(4)
        if weights.sum() > 0:  # clean
            break


def block(loader, model, optimizer):
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        with torch.device("cuda"):
            weights = torch.zeros(4)
        there = torch.zeros(4)
        if weights.sum() > 0:  # ASG104
            break
        if there.sum() > 0:  # clean
            break


def from_then_on(loader, model, optimizer):
    torch.set_default_device("cuda")
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
        weights = torch.zeros(4)
        if weights.sum() > 0:  # ASG104
            break
        here = torch.zeros(4, device="cpu")
        if here.sum() > 0:  # clean
            break
