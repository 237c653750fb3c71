# After modded-nanogpt and TransformerEngine: a branch for one size may never be entered, and what
# would fail in any other branch has not run there.
import torch


@torch.compile
def attend(x: torch.Tensor, ends: torch.Tensor):
    if ends.numel() == x.shape[0] and x.shape[0] == 1:
        x = x * int(ends[0].item())  # ASG102
    if x.size(1) != 3:
        x = x + 1
    else:
        x = x * ends.sum().item()  # ASG102
    return x


@torch.compile
def scaled(x: torch.Tensor, scale: torch.Tensor):  # after LightX2V
    is_scalar = scale.dim() == 1 and scale.numel() == 1
    if is_scalar:
        if scale.abs().max() == 0:  # ASG104
            return torch.zeros_like(x)
    return x * scale


@torch.compile
def grow(x: torch.Tensor):
    if x.shape[0] > 1:
        x = x / x.max().item()  # ASG502
    return x


@torch.compile(fullgraph=True)
def whole(x: torch.Tensor, eager: bool):
    if eager:
        x = x / x.max().item()  # ASG102
    return x / x.min().item()  # ASG501


class Dispatch(torch.nn.Module):
    def __init__(self, eager):
        super().__init__()
        self.eager = eager

    def forward(self, x):
        if self.eager:
            torch.cuda.current_stream().synchronize()  # ASG201
            self._count(x)
        return x * 2

    def _count(self, x):
        self.count = x.sum().item()  # ASG102


def graphed(x):
    return torch.cuda.make_graphed_callables(Dispatch(False), (x,))
