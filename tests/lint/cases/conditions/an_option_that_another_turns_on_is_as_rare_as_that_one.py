import torch


class Options:
    spill: bool = False
    keep: bool = False


def settings(long_inputs=False):
    options = Options()
    if long_inputs:
        options.spill = True
    else:
        options.keep = True
    return options


class Stack(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        self.options = options

    def forward(self, x):
        y = self.inner(x)
        if self.options.spill:
            y = y.cpu()  # clean
        if self.options.keep:
            self.norms = y.norm(dim=-1).tolist()  # ASG102
        return y
