import torch


class Trainer:
    def training_step(self, inputs):
        loss = self.loss(inputs)
        self.seen += self.accelerator.gather_for_metrics(loss).mean().item()  # ASG102
        self.accelerator.backward(loss)
