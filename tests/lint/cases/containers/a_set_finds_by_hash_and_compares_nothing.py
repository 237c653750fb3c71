import torch


def train(model, optimizer, loader, chosen):
    special = {p for p in model.parameters() if p.dim() > 1}
    others = set(model.parameters()) - special
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        for p in model.parameters():
            grad = p.grad.detach()
            if p in special:  # clean
                grad.mul_(0.5)
            if grad in frozenset([p]):  # clean
                continue
            if grad in [p, p]:  # ASG104
                continue
        optimizer.step()
    return others
