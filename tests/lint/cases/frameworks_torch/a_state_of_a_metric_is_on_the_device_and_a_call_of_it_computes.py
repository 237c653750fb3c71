import torch
from torchmetrics import Metric


class Errors(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("seen", default=torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state(name="deltas", default=[], dist_reduce_fx="cat")

    def update(self, pred, target):
        self.seen += len(pred)
        if self.seen > 10:  # ASG104
            self.deltas.append(pred - target)

    def compute(self):
        if self.seen:  # ASG104
            return torch.cat(self.deltas).abs().mean().item()  # ASG102
        return 0.0


class Total(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("total", default=torch.tensor(0.0))

    def update(self, pred):
        self.total += pred.sum()

    def compute(self):
        return self.total.item()  # clean


def evaluate(model: torch.nn.Module, loader, device):
    errors, total = Errors().to(device), Total().to(device)
    for x, y in loader:
        pred = model(x.to(device, non_blocking=True))
        errors(pred, y.to(device, non_blocking=True))
        total.update(pred)
    return errors.compute(), total.compute()
