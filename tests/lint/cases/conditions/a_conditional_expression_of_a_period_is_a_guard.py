import torch


def train(model, optimizer, loader):
    for step, x in enumerate(loader):
        due = True if step % 10 == 0 else False
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if due:
            print(loss.item())  # clean


def train_2(model, optimizer, loader):
    for step, x in enumerate(loader):
        due = 1 if step % 10 == 0 else 2
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if due:
            print(loss.item())  # ASG102
