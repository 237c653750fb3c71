import torch


def train(model, loader, optimizer):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()  # ASG106, ASG106
        costs = model(x)
        costs.mean().backward()
        optimizer.step()
        matched = torch.zeros_like(costs)
        crowded = costs > 0
        best = costs.argmin(dim=1)
        matched[crowded, best] = 1  # ASG105
        matched[crowded] = 0  # clean
        matched[crowded, 0] = 0  # clean
        matched[crowded, :] = 0  # clean
