import torch


class Optimizer(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["rate"] = torch.zeros_like(p) if self.on_device else 0.0
                state["rate"] = state["rate"] * 0.9 + 0.1
                if torch.is_tensor(state["rate"]):
                    size = torch.where(state["rate"] != 0.0, 1 / state["rate"], 0.0)
                else:
                    size = 1 / state["rate"] if state["rate"] != 0.0 else 0.0  # clean
                p.data -= size * p.grad


class Meter(torch.nn.Module):
    def forward(self, x):
        value = x.mean()
        if not torch.is_tensor(value):
            value = value + 1 if value > 0 else value  # clean
        if torch.is_tensor(value) and value > 3:  # ASG104
            value = value / 2
        return value
