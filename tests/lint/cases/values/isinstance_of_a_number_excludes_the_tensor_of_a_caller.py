import math, numbers
import torch


def is_infinite(x):
    if isinstance(x, float):
        return x == math.inf or x == -math.inf
    return False


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if is_infinite(loss):  # clean
            break


def is_infinite_2(x):
    if isinstance(x, (int, float)):
        return x == math.inf or x == -math.inf
    return False


def train_2(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if is_infinite_2(loss):  # clean
            break


def is_infinite_3(x):
    if isinstance(x, numbers.Number):
        return x == math.inf or x == -math.inf
    return False


def train_3(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if is_infinite_3(loss):  # clean
            break
