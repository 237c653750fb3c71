import pickle

import torch
import torch.distributed as dist


def serialize(data, group):
    backend = dist.get_backend(group)
    device = torch.device("cpu" if backend == "gloo" else "cuda")
    return torch.ByteTensor(list(pickle.dumps(data))).to(device=device)  # clean


def train(model, loader, optimizer, group):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        sent = serialize(y, group)
        size = torch.tensor([sent.numel()], device=sent.device)  # clean
        dist.all_reduce(size, group=group)
        if size > 10:  # clean
            continue
        where = torch.device("cuda" if dist.get_backend(group) == "nccl" else "cpu")
        most = torch.tensor([sent.numel()], device=where)  # ASG106
