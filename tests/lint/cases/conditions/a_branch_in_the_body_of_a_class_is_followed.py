import torch


class Model(torch.nn.Module):
    if torch.cuda.is_available():

        def forward(self, x: torch.Tensor):
            return x.sum().item()  # ASG102

    elif True:
        scale = 2
