import torch


def zeros(device=None):
    return torch.zeros((), device=device)


class Optimizer(torch.optim.Optimizer):
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            step = zeros(device="cpu")
            norm = zeros(p.device)
            print(step.item())  # clean
            print(norm.item())  # ASG102
            p.data -= step * p.grad
