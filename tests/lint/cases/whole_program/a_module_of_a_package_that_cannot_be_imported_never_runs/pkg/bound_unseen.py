import torch

globals().update(vars(torch))


class Net(Module):
    def training_step(self, x):
        return torch.relu(x).item()  # ASG102
