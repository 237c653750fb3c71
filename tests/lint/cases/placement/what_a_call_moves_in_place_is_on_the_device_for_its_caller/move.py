import torch


def batch_to_device(batch: dict, device: torch.device) -> None:
    for k, v in batch.items():
        if isinstance(v, torch.Tensor):
            batch[k] = v.to(device)  # ASG106


class Batch:
    def __init__(self, users, labels):
        self.users, self.labels = users, labels

    def to_device(self, device):
        self.users = self.users.to(device, non_blocking=True)
        self.labels = self.labels.to(device, non_blocking=True)
