import torch


def save_checkpoint(model, batch):
    torch.save(model(batch).cpu(), "out.pt")  # clean


def run(model, loader):
    for batch in loader:
        save_checkpoint(model, batch)


def save_images(model, batch):
    torch.save(model(batch).cpu(), "out.pt")  # ASG103


def run_2(model, loader):
    for batch in loader:
        save_images(model, batch)
