import torch


def train(model, loader, held):
    for step, x in enumerate(loader):
        model.train_step(x)
        if step % 100 == 0:
            loss = model.valid_step(held)
            print(model(held).item())  # clean


def train_2(model, loader, held):
    for step, x in enumerate(loader):
        model.train_step(x)
        if step % 100 == 0:
            loss = model.train_step(held)
            print(model(held).item())  # ASG102
