import torch

import geo


def take_step(model: torch.nn.Module, batch: geo.Batch, optimizer, device: torch.device):
    batch = batch.to(device)  # ASG106
    loss = model(batch.x).sub(batch.y).square().mean()
    loss.backward()
    optimizer.step()


def take_late_step(model: torch.nn.Module, batch: geo.Late, plan: geo.Plan, optimizer, device):
    batch = batch.to(device)  # clean
    plan = plan.to(device)  # clean
    loss = model(batch.x).sub(batch.y).square().mean()
    loss.backward()
    optimizer.step()


def train(model: torch.nn.Module, loader, optimizer, device: torch.device):
    for batch in loader:
        take_step(model, batch, optimizer, device)
    for batch in loader:
        take_late_step(model, batch, geo.Plan(), optimizer, device)
