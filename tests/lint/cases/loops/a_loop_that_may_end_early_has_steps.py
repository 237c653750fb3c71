import torch


def train(model, optimizer, loader: torch.utils.data.DataLoader, max_steps=100):
    for step, images in enumerate(loader):
        loss = model(images.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())  # ASG102
        if step >= max_steps:
            break


def evaluate(model, loader: torch.utils.data.DataLoader, max_batches=None, most=10000):
    total = 0
    for index, images in enumerate(loader):
        out = model(images.cuda(non_blocking=True))
        total += out.mean().item()  # ASG102
        if index == max_batches:
            break
    seen = 0
    for images in loader:
        out = model(images.cuda(non_blocking=True))
        total += out.mean().item()  # ASG102
        seen += len(images)
        if seen > most:
            break
    return total


def test(model, loader: torch.utils.data.DataLoader, max_batches):
    for index, images in enumerate(loader):
        print(model(images.cuda(non_blocking=True)).mean().item())  # ASG102
        if index >= max_batches:
            break
