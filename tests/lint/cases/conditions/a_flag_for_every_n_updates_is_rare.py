import torch


def train(model, loader, optimizer, state, probability):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        do_update = state["update_counter"] >= 1 / probability
        if do_update:
            print(loss.item())  # clean
        heavy = state["weight"] >= 3
        if heavy:
            print(loss.item())  # ASG102
