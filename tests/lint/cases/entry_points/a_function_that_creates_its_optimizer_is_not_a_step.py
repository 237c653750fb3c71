import torch


def calibrate(self, logits):
    logits = torch.tensor([logits], device=self.device)  # clean
    optimizer = torch.optim.LBFGS([self.t])

    def closure():
        loss = self.criterion(logits)
        loss.backward()
        return loss

    loss = self.criterion(logits)
    loss.backward()
    self.optimizer.step(closure)


def calibrate_2(self, logits):
    logits = torch.tensor([logits], device=self.device)  # ASG106
    pass

    def closure():
        loss = self.criterion(logits)
        loss.backward()
        return loss

    loss = self.criterion(logits)
    loss.backward()
    self.optimizer.step(closure)
