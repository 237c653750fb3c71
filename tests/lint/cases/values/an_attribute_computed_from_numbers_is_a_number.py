import torch


class Finder:
    def __init__(self):
        self.avg_loss = 0.0

    def on_train_batch_end(self, trainer):
        current = trainer.running.detach().item()  # ASG102
        self.avg_loss = 0.9 * self.avg_loss + 0.1 * current
        if self.avg_loss > 4:
            return -1
