import torch


class Agent:
    def train(self):
        for data in self.buffer.get():
            value = self.policy(data)
            for name, parameter in self.policy.named_parameters():
                torch.autograd.grad(value, parameter)
            print(value.item())  # ASG102
