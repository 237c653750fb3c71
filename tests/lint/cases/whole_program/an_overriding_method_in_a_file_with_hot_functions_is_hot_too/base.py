import torch


class Loss(torch.nn.Module):
    def forward(self, out, target):
        print(out.mean())  # ASG101
        return self.sum_up(out, target)

    def sum_up(self, out, target):
        return (out - target).sum()
