import torch


class Recorded(torch.Tensor):
    @property
    def applied(self) -> list:
        return self._applied

    @property
    def largest(self) -> torch.Tensor:
        return self.max()

    def peek(self):
        return int(max(1, len(self.applied) - 1))


class Net(torch.nn.Module):
    def forward(self, x: Recorded):
        if x.applied[-1]["id"] == id(self):  # clean
            x = x * 3
        if x.largest > 3:  # ASG104
            x = x + 1
        return x * int(x.peek())  # clean
