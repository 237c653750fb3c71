# settings: min_probability=default
# At most 64 KiB are staged at once, and nothing waits: SlowFast, vissl and LeanRL copy vectors so,
# TTS and insightface labels; insightface joins images, dino and ktransformers copy features.
import numpy as np
import torch
from torch.utils.data import DataLoader


def by_name(model, data, optimizer):
    for images, labels, tokens in DataLoader(data):
        x = images.to("cuda", non_blocking=True)  # ASG108
        y = labels.to("cuda", non_blocking=True)  # clean
        z = tokens.to("cuda", non_blocking=True)  # clean
        model(x, y, z).backward()
        optimizer.step()


def by_key(model, data, optimizer):
    for batch in DataLoader(data):
        x = batch["pixel_values"].to("cuda", non_blocking=True)  # ASG108
        y = batch["image_ids"].to("cuda", non_blocking=True)  # clean
        model(x, y).backward()
        optimizer.step()


def joined(model, data, optimizer):
    for images, others, ids in DataLoader(data, pin_memory=True):
        x = torch.cat((images, others)).to("cuda", non_blocking=True)  # ASG108
        y = (images / 255).float().to("cuda", non_blocking=True)  # ASG108
        z = torch.cat((ids, ids)).to("cuda", non_blocking=True)  # clean
        model(x, y, z).backward()
        optimizer.step()


def by_sizes(model, x, steps):
    table = torch.zeros(1024, 1024)
    for n in range(steps):
        corners = torch.zeros(n, 4).cuda(non_blocking=True)  # clean
        pictures = torch.zeros(n, 3, 224, 224).cuda(non_blocking=True)  # ASG108
        near = torch.zeros(x.size(0), x.size(1), x.size(1)).cuda(non_blocking=True)  # ASG108
        above = (table > 0.5).cuda(non_blocking=True)  # ASG108
        rows = table.sum(0).cuda(non_blocking=True)  # clean
        row = table[n].cuda(non_blocking=True)  # clean
        every = table[::2, ::4].cuda(non_blocking=True)  # ASG108
        model(corners, pictures, near, above, rows, row, every).backward()


def of_vectors(model, x, steps):
    for _ in range(steps):
        k = x.shape[0]
        share = torch.ones(k) / k
        model(share.double().cuda(non_blocking=True)).backward()  # clean


def of_environments(model, envs, steps):
    for _ in range(steps):
        obs, reward, done = envs.step(model.act())
        flags = torch.as_tensor(np.asarray(done)).cuda(non_blocking=True)  # clean
        model(flags).backward()


def filled_up(model, loader, n):
    """After YOLOv6: what is handed is pinned for all that is known."""
    for images in loader.batches():
        if images.shape[0] != n:
            rest = torch.zeros(n - images.shape[0], 3, 224, 224)
            images = torch.cat([images, rest])
        images = images.to("cuda", non_blocking=True)  # clean
        model(images).sum().backward()


def made_once(model, loader, rank):
    features = None
    for x in loader:
        found = model(x)
        found.sum().backward()
        if rank == 0 and features is None:
            features = torch.zeros(len(loader.dataset), found.shape[-1])
            features = features.cuda(non_blocking=True)  # clean
        features[0] = found
