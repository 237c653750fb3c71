import torch
from places import get_device


def train(model, dataset, optimizer, kept):
    device = get_device()
    for batch in torch.utils.data.DataLoader(dataset):
        x, y = [part.to(device) for part in batch]
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        kept.append(loss.item())  # ASG102
