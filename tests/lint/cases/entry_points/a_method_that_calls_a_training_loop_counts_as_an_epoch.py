import torch


class Trainer:
    def fit(self):
        self.rounds()
        return self.model(self.probe).sum().item()  # clean

    def rounds(self):
        for batch in self.loader:
            loss = self.model(batch).sum()
            loss.backward()
            self.optimizer.step()


def compare(sizes):
    for batch_size in sizes:
        trainer = Trainer()
        trainer.fit()
