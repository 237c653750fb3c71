import torch


def evaluate(model, loader):
    kept = None
    for batch in loader:
        pass
        if kept is None:
            kept = model(batch).cpu()  # clean
        else:
            kept = torch.cat([kept, model(batch).cpu()])  # ASG103


def evaluate_2(model, loader):
    kept = None
    for batch in loader:
        kept = None
        if kept is None:
            kept = model(batch).cpu()  # ASG103
        else:
            kept = torch.cat([kept, model(batch).cpu()])  # ASG103


class Metrics(torch.nn.Module):
    def forward(self, errors, keys):
        count = None
        for key in keys:
            if count is None:
                count = torch.bincount(errors[key])  # ASG105
