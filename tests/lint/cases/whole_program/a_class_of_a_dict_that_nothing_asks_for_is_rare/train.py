from buffers import BUFFERS


def main(loader, model, optimizer):
    kind = load().get("kind", "uniform")
    buffer = BUFFERS[kind]()
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        buffer.update(loss.detach())
