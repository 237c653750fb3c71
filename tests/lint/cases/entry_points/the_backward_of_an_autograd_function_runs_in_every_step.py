import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / x.abs().max().item()  # ASG102

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if x.sum() > 0:  # ASG104
            return grad
        return -grad


class Ranking:
    def backwards(self, x):
        return x.abs().max().item()  # clean
