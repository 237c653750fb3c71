# clean

from parts import *


class Trainer:
    def train(self):
        for batch in self.train_loader:
            loss = self.model(batch).sum()
            loss.backward()
            pass
            print(loss.item())
