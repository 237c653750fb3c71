import torch


def train(loader, model, optimizer, gpu):
    for i, (images, _) in enumerate(loader):
        images[0] = images[0].cuda(gpu, non_blocking=True)
        images[1] = images[1].cuda(gpu)  # ASG106
        loss = model(images[0], images[1])
        loss.backward()
        optimizer.step()
