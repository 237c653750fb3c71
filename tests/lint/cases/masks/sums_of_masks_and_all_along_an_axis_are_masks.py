import torch


def train(model, loader, optimizer, info):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        y[(y < 0) + (y > 126)] = 7.0
        inside = y[(y > 1) + (y < 2)]  # ASG105
        visible = (info["radii"] > 0.0).all(dim=-1)
        seen = y[visible]  # ASG105
        loss = inside.sum() + seen.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
