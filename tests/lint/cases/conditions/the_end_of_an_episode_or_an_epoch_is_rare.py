import torch


def train(model, loader, train_iter, done):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        if done:
            print(loss)  # clean
        if train_iter.is_new_epoch:
            print(loss)  # clean
