import torch


class Streamer:
    def put(self, value: torch.Tensor):
        print(value.tolist())  # clean


class Trainer:
    def __init__(self, results):
        self.results = results

    def fit(self, model, loader, optimizer):
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            optimizer.step()
            self.results.put(loss)
