import torch


class Trainer:
    def train_step(self, steps: int):
        if steps % self.save_every == 0:
            for model, name in self.saved:
                print(self.model(next(self.valid).cuda()).mean().item())  # clean


class Trainer2:
    def train_step(self, steps: int):
        if steps % self.save_every == 0:
            for images, name in self.saved:
                print(self.model(next(self.valid).cuda()).mean().item())  # ASG102, ASG106
