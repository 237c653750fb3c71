import torch


def outputs(model, loader):
    model.cuda()
    for x in loader:
        yield model(x.cuda(non_blocking=True)), x


def losses(model, loader, optimizer):
    for epoch in range(10):
        for x in loader:
            loss = model(x.cuda(non_blocking=True)).sum()
            loss.backward()
            optimizer.step()
        yield loss


def main(model, loader, optimizer):
    for i, (out, _) in enumerate(outputs(model, loader)):
        print(i, out.sum().item())  # ASG102
    for loss in losses(model, loader, optimizer):
        print(loss.item())  # clean
