import torch


class Trainer:
    def training_step(self, batch, factor):
        loss = self.model(batch).sum()
        number = float(loss)  # ASG102
        running_loss = factor * self.running + number
        print(f"{running_loss:.2f}")  # clean
        self.log_all({"loss": loss})

    def log_all(self, losses):
        while len(losses) > 0:
            name, loss = losses.popitem()
            print(f"train/{name}")
