from functools import partial

import torch
from graphs import far, install, limited, near


def made(points: torch.Tensor, version: int):
    if version == 1:
        find = near
    elif version == 2:
        find = far
    else:
        raise ValueError("there are two versions")
    return find(points, 3.0)


class Net(torch.nn.Module):
    def forward(self, points: torch.Tensor):
        limit = partial(limited, radius=2.0)
        install(self, 1.0)
        return limit(made(points, version=self.version))
