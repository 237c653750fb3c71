# settings: min_confidence=low min_probability=0.1
import torch
from torch.utils.data import DataLoader


def maybe_cuda(what, use_cuda=True):
    if use_cuda and torch.cuda.is_available():
        what = what.cuda()  # ASG106
    return what


def train(model, dataset, cuda):
    for batch in DataLoader(dataset):
        x, y = batch
        y = maybe_cuda(y, cuda)
        model(x).sum().backward()
        keep(y[0].item())  # ASG102
