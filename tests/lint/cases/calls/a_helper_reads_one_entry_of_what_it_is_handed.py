import torch


def look(out):
    total = out["losses"]["total"]
    if total > 3:  # ASG104
        print("spike")
    if out["losses"]["count"] > 3:
        print("many")
    hand_on(out["losses"])


def hand_on(losses):
    if losses["count"] > 3:
        print(losses["total"].item())  # ASG102


def main(loader, model, optimizer):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        look({"losses": {"total": loss.detach(), "count": 3}})
