import torch


def given(lengths, size=None):
    if size is None:
        size = lengths.max()
    return torch.arange(size) < lengths  # clean


def unknown(lengths, max_len=None):
    if max_len is None:
        max_len = torch.max(lengths).item()  # clean
    return torch.arange(max_len) < lengths


def left_out(lengths, max_len=None):
    if max_len is None:
        max_len = torch.max(lengths).item()  # ASG102
    return torch.arange(max_len) < lengths


def either(lengths, size=None):
    size = int(lengths.max()) if size is None else size  # clean
    return torch.arange(size) < lengths


def other(lengths, size=None):
    return torch.arange(size if size is not None else lengths.sum().item()) < lengths  # clean


def train(model, loader, optimizer, size):
    for x, lengths in loader:
        lengths = lengths.cuda(non_blocking=True)
        loss = model(x) * given(lengths, x.size(1)) * unknown(lengths, size)
        loss = (loss * left_out(lengths, size) * left_out(lengths)).sum()
        loss = loss * either(lengths, 3).sum() * other(lengths, 3).sum()
        loss.backward()
        optimizer.step()
