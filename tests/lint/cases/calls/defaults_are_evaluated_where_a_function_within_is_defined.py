import torch


def chosen(scores):
    found = {}
    for name, score in scores.items():
        order = score.argsort(dim=0)
        found[name] = lambda x, first=order[0].item(): x[first]  # ASG102

        def last(x, at=order[-1].item()):  # ASG102
            return x[at]

        found[f"{name} last"] = last
    return found


def train(net, loader, optimizer):
    for x in loader:
        loss = net(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        chosen({"a": loss, "b": loss * 2})
