import torch


def passing(values):
    yield from values


def train(model, loader, optimizer):
    model.cuda()
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        for value in passing([loss, loss / 2]):
            print(value.item())  # ASG102
        for number in passing([1, 2]):
            print(int(number))  # clean
