from losses import LOSSES, total


def main(loader, model, optimizer, loss="focal"):
    criterion = LOSSES[loss]
    for x, y in loader:
        out = model(x)
        (criterion(out, y) + total(out, y)).backward()
        optimizer.step()
