import torch


def drop(mask):
    assert False, "not completed"
    return torch.nonzero(mask).tolist()


def keep(mask):
    assert mask is not None
    return torch.nonzero(mask).tolist()  # ASG102, ASG105


def train(loader: torch.utils.data.DataLoader):
    for batch in loader:
        mask = batch.cuda(non_blocking=True) > 0
        drop(mask)
        keep(mask)
