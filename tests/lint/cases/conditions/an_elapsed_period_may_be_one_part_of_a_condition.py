import torch


def train(model, loader, opt, freq=None):
    step = last = 0
    for batch in loader:
        loss = model(batch)
        loss.backward()
        opt.step()
        step += 1
        if freq is not None and (step - last) >= freq:
            print(f"loss {loss.item():.3f}")  # clean
            last = step
    return last


def train_for_long(model, loader, opt, freq=None):
    step = last = 0
    for batch in loader:
        loss = model(batch)
        loss.backward()
        opt.step()
        step += 1
        if freq is not None and step >= freq:
            print(f"loss {loss.item():.3f}")  # ASG102
            last = step
    return last
