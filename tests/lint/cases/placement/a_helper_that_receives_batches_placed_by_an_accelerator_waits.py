# settings: min_confidence=low
import torch


def mask_tokens(inputs):
    labels = inputs.clone()
    kept = labels.sum().item()  # ASG102
    if labels.max() > kept:  # ASG104
        labels = labels - 1
    return inputs, labels


def train(train_loader, model, optimizer, device):
    for batch in train_loader:
        inputs, labels = mask_tokens(batch)
        labels = labels.to(device)  # ASG106
        model(inputs, labels).backward()
        self.accelerator.log(1)
