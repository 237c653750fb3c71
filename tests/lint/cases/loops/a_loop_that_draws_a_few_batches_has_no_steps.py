import itertools

import torch


def calibrate(model, loader: torch.utils.data.DataLoader, max_images=200):
    seen, scales = 0, []
    for images in loader:
        out = model(images.cuda(non_blocking=True))
        scales.append(out.max().item())  # clean
        seen += images.shape[0]
        if seen >= max_images:
            break
    return scales


def preview(model, loader: torch.utils.data.DataLoader, count: int = 4):
    for index, images in zip(range(count), loader):
        out = model(images.cuda(non_blocking=True))
        print(index, out.mean().item())  # clean
    for images in itertools.islice(loader, 8):
        out = model(images.cuda(non_blocking=True))
        print(out.mean().item())  # clean


def measure(model, loader: torch.utils.data.DataLoader):
    for index, images in enumerate(loader):
        if index == 10:
            break
        print(model(images.cuda(non_blocking=True)).mean().item())  # clean


def collect(model, loader: torch.utils.data.DataLoader, max_images):
    seen = 0
    for images in loader:
        print(model(images.cuda(non_blocking=True)).mean().item())  # clean
        seen += len(images)
        if seen >= max_images:
            break
