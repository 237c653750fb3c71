import torch


def train(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * torch.cuda.FloatTensor(x.size(0))).sum().backward()  # clean


def train_3(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * torch.cuda.LongTensor(labels)).sum().backward()  # ASG106


def train_4(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * torch.cuda.FloatTensor([0.1, 0.9])).sum().backward()  # ASG106


def train_5(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * y.new(*sizes(x))).sum().backward()  # clean


def train_6(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * y.new(*(3, 4) + x.size()[1:])).sum().backward()  # clean


def train_7(model, loader, labels, max_size):
    for x in loader:
        y = model(x.cuda(non_blocking=True))
        (y * y.new([0.1, 0.9])).sum().backward()  # ASG106
