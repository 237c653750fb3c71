import torch


class Codebook(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inited", torch.zeros(1))
        self.register_buffer("ready", torch.zeros(1))
        self.done = False

    def start(self, x):
        if self.inited:  # ASG104
            return
        print(x.unique().numel())  # clean
        self.inited.fill_(1)

    def begin(self, x):
        if self.done:
            return
        print(x.unique().numel())  # clean
        self.done = True

    def forward(self, x):
        self.start(x)
        self.begin(x)
        if not self.ready.item():  # ASG102
            print(x.unique().numel())  # clean
            self.ready.data.copy_(torch.ones(1, device=x.device))
        if self.training:
            return x
        print(x.unique().numel())  # ASG105
        return x
