import torch


class Trainer:
    def fit(self, model, data, max_epochs, loss: torch.Tensor):
        for epoch in range(max_epochs):
            model.train_step(data)
            print(loss.item())  # ASG102

    def fit_by_a_method(self, model, data, max_epochs):
        for epoch in range(max_epochs):
            self.train_once(model, data)

    def train_once(self, model, data):
        loss = model.train_on_batch(data)
        self.last = loss.detach().cpu()  # ASG103

    def fit_batches(self, model, loader, max_epochs, loss: torch.Tensor):
        for epoch in range(max_epochs):
            for batch in loader:
                model.train_step(batch)
            print(loss.item())  # clean

    def fit_whole_epochs(self, model, loader, max_epochs, loss: torch.Tensor):
        for epoch in range(max_epochs):
            model.train_epoch(loader)
            print(loss.item())  # clean
