import torch


class Layer:
    def reorder(self, rows: torch.LongTensor):
        self.states = self.states.index_select(0, rows.to(self.device))  # clean

    def refill(self, rows: torch.LongTensor):
        self.states = self.states.index_select(0, rows.to(self.device))  # ASG106


def decode(model: torch.nn.Module, caches, ids):
    for step in range(10):
        logits = model(ids)
        for cache in caches:
            cache.reorder(logits)
            cache.refill(torch.arange(4))
