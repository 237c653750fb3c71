import torch


def predict(model, loader):
    names = ["cat", "dog"]
    for x, y in loader:
        _, predicted = model(x).max(1)
        print(names[predicted[0]])  # ASG102
