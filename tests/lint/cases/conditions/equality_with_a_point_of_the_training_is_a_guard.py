import torch


class Capture:
    def step(self, loader):
        for batch in loader:
            if self.iteration == self.warmup:
                torch.cuda.synchronize()  # clean
                self.model(batch).sum().backward()


class Capture2:
    def step(self, loader):
        for batch in loader:
            if self.iteration % 4 == 0:
                torch.cuda.synchronize()  # ASG202
                self.model(batch).sum().backward()
