import torch
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.loader = self.accelerator.prepare(loader)

    def training_step(self, inputs):
        labels = inputs["labels"].to(self.accelerator.device)  # clean
        loss = self.model(labels)
        loss.backward()
        self.optimizer.step()


class PlainTrainer:
    def training_step(self, inputs):
        labels = inputs["labels"].to(self.accelerator.device)  # ASG106
        loss = self.model(labels)
        loss.backward()
        self.optimizer.step()
