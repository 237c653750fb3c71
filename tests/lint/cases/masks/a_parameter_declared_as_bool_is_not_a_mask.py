
import torch


def train(model, loader, optimizer, flag: bool, other):
    for batch in loader:
        loss = model(batch)
        kept = loss[flag & other]  # clean
        loss.sum().backward()
        optimizer.step()


def train_with_int(model, loader, optimizer, flag: int, other):
    for batch in loader:
        loss = model(batch)
        kept = loss[flag & other]  # clean
        loss.sum().backward()
        optimizer.step()
