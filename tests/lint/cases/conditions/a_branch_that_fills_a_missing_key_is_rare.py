import torch


class Model(torch.nn.Module):
    def forward(self, x, kind):
        if "steps" not in self.sums[kind]:
            self.sums[kind]["steps"] = torch.tensor(0, device=x.device)  # clean
        if "steps" not in self.others[kind]:
            self.sums[kind]["steps"] = torch.tensor(0, device=x.device)  # ASG106
        return x
