import time
import torch


def train(model, loader, interval):
    last = time.time()
    for batch in loader:
        loss = model(batch)
        loss.backward()
        if time.time() - last > interval:
            print(loss)  # clean
