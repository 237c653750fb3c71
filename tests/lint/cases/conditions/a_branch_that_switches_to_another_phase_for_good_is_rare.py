import torch


class Optim(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if group["phase"] == "sgd":
                    p.data.add_(p.grad, alpha=-group["lr"])
                    continue
                rate = (p.grad * p.grad).mean()
                if group["ready"]:
                    group["phase"] = "sgd"
                    group["lr"] = rate.item()  # clean
                if group["sparse"]:
                    group["kind"] = "sgd"
                    group["lr"] = rate.item()  # ASG102
