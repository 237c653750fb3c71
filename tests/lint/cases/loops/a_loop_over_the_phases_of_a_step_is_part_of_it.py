import torch


def train(loss, iterator, phases, device):
    while True:
        images = next(iterator).to(device)  # ASG106
        for phase in phases:
            for part in images.split(4):
                loss(phase, part).backward()
            phase.optimizer.step()
