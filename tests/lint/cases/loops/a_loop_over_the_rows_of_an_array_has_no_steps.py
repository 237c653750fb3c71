import torch


def score(ids: torch.Tensor):
    scores = []
    for batch_idx in range(ids.shape[0]):
        row = torch.exp(ids[batch_idx].cuda(non_blocking=True))
        scores.append(row.sum().item())  # clean
    for sample_idx in range(ids.size(0)):
        row = torch.exp(ids[sample_idx].cuda(non_blocking=True))
        scores.append(row.sum().item())  # clean
    return scores


def steps(ids: torch.Tensor, lengths):
    for step in range(ids.shape[0]):
        row = torch.exp(ids[step].cuda(non_blocking=True))
        print(row.sum().item())  # ASG102
    for batch_idx in range(ids.shape[1]):
        row = torch.exp(ids[batch_idx].cuda(non_blocking=True))
        print(row.sum().item())  # ASG102
