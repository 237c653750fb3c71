import torch

DEFAULTS = dict(watch=False, trace=False)


class Net(torch.nn.Module):
    def __init__(self, options, watch=False, trace=False):
        super().__init__()
        self.options = options

    def forward(self, x):
        if self.options.get("watch", False):
            self.norm = x.norm().item()  # clean
        if self.options["watch"]:
            self.norm = x.norm().item()  # clean
        if self.options["trace"]:
            self.norm = x.norm().item()  # ASG102
        return x


def main():
    return Net(dict(DEFAULTS, trace=True))
