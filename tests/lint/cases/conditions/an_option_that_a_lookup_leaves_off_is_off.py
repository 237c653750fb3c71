import torch


class Process:
    def __init__(self, options):
        self.use_critic = self.setting("use_critic", False, as_type=bool)
        self.verbose = options.lookup("verbose", default=None)
        self.reports = self.setting("reports", True)

    def train(self, model, loader, optimizer):
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            if self.use_critic:
                print(loss.item())  # clean
            if self.verbose:
                print(loss.item())  # clean
            if self.reports:
                print(loss.item())  # ASG102
