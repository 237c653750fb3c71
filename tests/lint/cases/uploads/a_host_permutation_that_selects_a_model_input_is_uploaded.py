import torch


def train(model, inputs, optimizer, size):
    order = torch.randperm(size)
    for start in range(0, size, 32):
        loss = model(inputs[order[start : start + 32]]).sum()  # ASG106
        loss.backward()
        optimizer.step()


def train_2(model, inputs, optimizer, size):
    order = torch.randperm(size)
    for start in range(0, size, 32):
        loss = model(inputs[start]).sum()  # clean
        loss.backward()
        optimizer.step()
