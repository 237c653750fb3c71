"""What is named like a step is none where all that calls it goes over epochs."""

import torch


class Flow:
    def __init__(self, model, data, optimizer):
        self.model, self.data, self.optimizer = model, data, optimizer

    def train(self, max_epoch):
        for epoch in range(max_epoch):
            for batch in torch.utils.data.DataLoader(self.data):
                loss = self.model(batch).sum()
                loss.backward()
                self.optimizer.step()
            self._full_test_step()
        return self._full_test_step()

    def _full_test_step(self):
        scores = torch.softmax(torch.randn(4, 4, device="cuda"), -1)
        return scores.argmax(-1).cpu()  # clean

    def _other_step(self):
        scores = torch.softmax(torch.randn(4, 4, device="cuda"), -1)
        return scores.argmax(-1).cpu()  # ASG103
