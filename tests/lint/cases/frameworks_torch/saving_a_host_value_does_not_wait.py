import torch


def predict(model, loader):
    for x in loader:
        y = model(x).cpu()  # ASG103
        torch.save(y, "y.pth")
        torch.save(model(x), "y.pth")  # ASG103
