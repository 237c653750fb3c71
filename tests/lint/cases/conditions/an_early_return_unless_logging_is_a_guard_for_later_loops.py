import torch


class Trainer:
    def training_step(self, batch):
        self.report(self.model(batch))

    def report(self, losses):
        if not self.is_logging_step():
            return
        for trainer in self.trainers:
            trainer.tell(losses.item())  # clean
