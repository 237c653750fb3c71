import torch


def demo(model):
    while True:
        step = input("?")
        print(model(step).item())  # clean
