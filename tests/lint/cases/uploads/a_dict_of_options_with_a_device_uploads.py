import torch


class Trainer:
    def __init__(self, net, device):
        self.net = net
        self.options = dict(dtype=torch.float32, device=device)

    def update(self, batch):
        batch = prepared(batch).to(**self.options)  # ASG106
        self.net(batch).sum().backward()


class Trainer2:
    def __init__(self, net, device):
        self.net = net
        self.options = {"device": device}

    def update(self, batch):
        batch = prepared(batch).to(**self.options)  # ASG106
        self.net(batch).sum().backward()
