import torch


def count(labels):
    found = 0
    for i in range(3):
        if labels[i] != 0:  # ASG104
            found += 1
    return found


def predict(model, loader):
    for x, y in loader:
        labels = model(x)
        print(count(labels))
