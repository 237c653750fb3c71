import torch


def train(model, loader, optimizer, accelerator, args):
    for epoch in range(args.epochs):
        train_loss = 0.0
        for x in loader:
            loss = model(x).mean()
            total = accelerator.gather(loss).mean()
            train_loss += total.item() / args.accumulation  # ASG102
            loss.backward()
            optimizer.step()
            print(f"loss: {train_loss}")  # clean
            train_loss = 0.0
