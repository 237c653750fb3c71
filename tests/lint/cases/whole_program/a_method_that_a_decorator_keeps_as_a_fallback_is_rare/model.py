import torch
from dispatch import counted, dispatched


@dispatched
class Experts(torch.nn.Module):
    def forward(self, x: torch.Tensor, router: torch.Tensor):
        for expert in router.nonzero():  # clean
            if expert == self.last:  # clean
                continue
            x = x + self.experts[expert](x)
        return x


@dispatched(transposed=True)
class Transposed(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[: x.sum().item()]  # clean


@counted
class Counted(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[: x.sum().item()]  # ASG102


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, x: torch.Tensor):
        return self.experts(x, x > 0)


class Wrapped(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[: x.sum().item()]  # clean


class Watched(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[: x.sum().item()]  # ASG102


def replace(model):
    fast = dispatched(cls=Wrapped, transposed=True)
    model.layer, model.other = fast(), counted(Watched)()
