import torch


def train(model, loader: torch.utils.data.DataLoader, new_tokens, not_cached):
    for batch in loader:
        found = model(batch.cuda(non_blocking=True))
        eos_positions = torch.eq(found, 2).flatten().argsort()
        new_det_inds = model.match(found)
        if len(new_det_inds) > 0:
            print(found.max().item())  # clean
        if not_cached:
            print(found.min().item())  # clean
        if eos_positions.numel() > 0:
            print(found.sum().item())  # clean
        if len(new_tokens) > 0:
            print(found.mean().item())  # ASG102
        if len(new_det_inds) > 8:
            print(found.std().item())  # ASG102
