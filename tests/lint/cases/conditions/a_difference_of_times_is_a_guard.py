import time
import torch


def train(model, optimizer, loader, last):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        now = time.time()
        if now - last >= 60:
            print(loss.item())  # clean


def train_2(model, optimizer, loader, last):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        now = time.time()
        if len(x) - last >= 60:
            print(loss.item())  # ASG102
