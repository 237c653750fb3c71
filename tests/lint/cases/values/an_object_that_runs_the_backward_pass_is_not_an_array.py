import torch


class Trainer:
    def fit(self, loader):
        for step, batch in enumerate(loader):
            loss = self.model(batch).sum()
            self.strategy.backward(loss, self.model)
            logs = self.strategy.all_reduce({"loss": loss.item()})  # ASG102
            self.bar.set_postfix(logs)
            if step > self.strategy.warmup:
                self.done = True
