import torch


class Trainer:
    def train_one_step(self, batches):
        for i, batch in enumerate(batches):
            image = batch.pop("image").to(self.device)  # ASG106
            text = batch.get("text").to(self.device)  # ASG106
            self.accelerator.backward(self.loss(self.model(image), text))
        self.optimizer.step()

    def train(self):
        for x, y in self.train_loader:
            x, y = x.to(self.dvc), y.to(self.compute_type)  # ASG106
            self.loss(self.model(x), y).backward()
            self.optimizer.step()
