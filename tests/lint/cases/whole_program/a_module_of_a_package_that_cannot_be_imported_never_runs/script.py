import torch


@display.show
def train(model, loader):
    for x in loader:
        print(model(x).sum())  # ASG101


@STAGE
def again(model, loader):
    for x in loader:
        print(model(x).sum())  # ASG101
