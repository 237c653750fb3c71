import torch


class Prefetcher:
    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        for batch in self.loader:
            yield batch.to(self.device)  # ASG106


def evaluate(loader):
    for i, batch in enumerate(Prefetcher(loader, "cuda")):
        print(batch)  # ASG101
