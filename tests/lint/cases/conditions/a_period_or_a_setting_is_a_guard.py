import torch


def train(model, loader, settings):
    for step, batch in enumerate(loader):
        loss = model(batch).sum()
        loss.backward()
        if step % 50 == 0 or (is_chief and settings.careful):
            print(loss)  # clean
        if settings.log_at(step):
            print(loss)  # clean
