import torch


class Optimizer(torch.optim.Optimizer):
    def step(self):
        for group in self.groups:
            group["count"] += 1
            self.count += 1
            do_update = self.count >= 1 / self.share(group)
            if do_update:
                self.count = 0
            for p in group["params"]:
                if do_update:
                    print(p.grad.norm())  # clean
                else_update = p.grad.numel() >= self.small
                if else_update:
                    print(p.grad.norm())  # ASG101
