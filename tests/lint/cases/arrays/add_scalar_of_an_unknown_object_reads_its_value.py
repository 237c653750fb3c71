import torch


def train(model, loader, board):
    for step, batch in enumerate(loader):
        loss = model(batch).sum()
        loss.backward()
        board.add_scalar("loss", loss, step)  # ASG107
