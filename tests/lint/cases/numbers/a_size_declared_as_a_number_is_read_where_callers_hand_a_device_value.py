import torch


def padded(x: torch.Tensor, n: int, m: int):
    out = x.new_zeros((x.shape[0], n, 3))  # ASG102
    rows = out.reshape(x.shape[0] * n, 3)  # ASG102
    return rows, torch.arange(m), shaped(x, (n, m))  # clean


def shaped(x: torch.Tensor, size: tuple[int, int]):
    return x.view(x.shape[0], *size)  # clean


def padded_by_two(x: torch.Tensor, n: int):
    return padded(x, n, x.shape[0])


def train(model, loader, optimizer):
    for x, lengths in loader:
        x, lengths = x.cuda(), lengths.cuda()  # ASG106, ASG106
        loss = model(padded_by_two(x, lengths.max()), padded(x, 3, 4))
        loss.backward()
        optimizer.step()
