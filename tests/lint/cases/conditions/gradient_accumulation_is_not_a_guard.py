import torch


def train(model, loader, opt, accumulation_steps):
    for i, batch in enumerate(loader):
        loss = model(batch)
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            opt.step()
            print(loss)  # ASG101
