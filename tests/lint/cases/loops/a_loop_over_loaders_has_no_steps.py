import torch
from torch.utils.data import DataLoader


def make_loader(sets, train):
    loaders = [DataLoader(each) for each in sets]
    return loaders[0] if train else loaders


def gather(data):
    size = torch.tensor([len(data)], device="cuda")
    return int(size)  # clean


def evaluate(model, loader):
    results = {}
    for index, x in enumerate(loader):
        results[index] = model(x.cuda()).cpu()  # ASG103, ASG106
    return results


def main(model, sets):
    for loader_val in make_loader(sets, False):
        results = evaluate(model, loader_val)
        gather(results)
