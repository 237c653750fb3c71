import torch


class Finder:
    def run(self, loader, best):
        for x in loader:
            self.step(x).backward()
            self.optimizer.step()
            if best > self.history["loss"][-1]:  # clean
                break


class Finder2:
    def run(self, loader, best):
        for x in loader:
            self.step(x).backward()
            self.optimizer.step()
            if best > self.outputs["loss"][-1]:  # ASG104
                break
