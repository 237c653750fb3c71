import torch


class Runner:
    def __init__(self, net):
        self.net = net
        self.net.cuda()

    def run(self, loader):
        for x in loader:
            self.seen = self.net(x).tolist()  # ASG102


@torch.no_grad()
def generate(model, ids):
    model.cuda()
    for _ in range(100):
        token = model(ids)[:, -1].argmax(-1)
        if token[0] in (1, 2):  # ASG104
            break


def move(x):
    x.cuda()
    return x.shape
