import torch


def train(model, loader, optimizer, every, total_steps):
    step = seen = 0
    for x, y in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        step, seen = step + 1, seen + 1
        if seen >= every or step >= total_steps:
            seen = seen - every
            print(loss)  # clean
        if step >= every:
            print(loss)  # ASG101
