from table import TABLE


def main(loader, model, optimizer, kind="even"):
    meter = TABLE[kind]()
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        meter.update(loss.detach())
