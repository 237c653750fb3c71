import torch


def train(model, loader, optimizer, bar):
    means = torch.zeros(3, device="cuda")
    for i, x in enumerate(loader):
        means = (means * i + model(x).mean()) / (i + 1)
        bar.set_description("%s %s %s %s" % ("now", *means, x.shape[0]))  # ASG101
