import torch


def train(model, optimizer, loader, log):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if log.is_due(step, 100):
            print(loss.item())  # clean


def train_2(model, optimizer, loader, log):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if log.is_due(step, 100) or log.eager and log.rank == 0:
            print(loss.item())  # clean


def train_3(model, optimizer, loader, log):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if log.takes(x, 100):
            print(loss.item())  # ASG102


def train_4(model, optimizer, loader, log):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if log.is_due(step, 100) or log.eager or log.rank == 0:
            print(loss.item())  # ASG102
