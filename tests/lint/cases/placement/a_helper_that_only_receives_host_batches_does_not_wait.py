import torch


def mask_tokens(inputs):
    labels = inputs.clone()
    kept = labels.sum().item()  # clean
    if labels.max() > kept:  # clean
        labels = labels - 1
    return inputs, labels


def train(train_loader, model, optimizer, device):
    for batch in train_loader:
        inputs, labels = mask_tokens(batch)
        labels = labels.to(device)  # ASG106
        model(inputs, labels).backward()
        optimizer.step()
