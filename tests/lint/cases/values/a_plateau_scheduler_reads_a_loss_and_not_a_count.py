import torch


def train(model, loader, optimizer, start, scheduler_of):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        scheduler.step(start.count)  # clean


def train_2(model, loader, optimizer, start, scheduler_of):
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        scheduler.step(loss)  # ASG102
