import torch


class Trainer:
    def train(self, model, loader):
        for batch in loader:
            loss = model(batch).sum()
            loss.backward()
            number = loss.item()  # asyncguard: ignore
            self.tell_about(number)

    def tell_about(self, loss):
        print(loss)  # clean
