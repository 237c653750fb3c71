import torch


class Optimizer(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                    if p.norm().item() == 0.0:  # clean
                        state["empty"] = True
                if not group:
                    state["mean"] = torch.zeros_like(p)
                    if p.norm().item() == 0.0:  # ASG102
                        continue
                state["mean"].add_(p.grad)
