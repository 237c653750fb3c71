import torch

from .peaks import all_on_the_host, by_the_framework, declared, from_the_model, weigh

SIZES = all_on_the_host(torch.ones(5), torch.arange(5))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 5)
        self.net.register_forward_hook(by_the_framework)

    def forward(self, x):
        grid = torch.arange(5, dtype=torch.float32) - 2
        maps = self.net(x)
        table = all_on_the_host(torch.ones(5), grid)
        return weigh(maps, xs=grid) + declared(maps, grid), from_the_model(maps, maps[0]), table
