import torch


class Base:
    def note(self, losses):
        for name, value in losses.items():
            self.log[name] = value.mean().item()  # ASG102
