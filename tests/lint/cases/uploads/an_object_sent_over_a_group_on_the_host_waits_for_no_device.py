import torch


def train(model, loader, optimizer, group):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        torch.distributed.broadcast_object_list([y], src=0, group=group, device=torch.device("cpu"))  # clean
        torch.distributed.broadcast_object_list([y], src=0)  # ASG103
