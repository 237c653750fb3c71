import torch


class ConfusionMatrix:
    def update(self, output, target):
        known = (target >= 0) & (target < 10)
        chosen = output.argmax(1)[known]  # ASG105
        self.matrix += torch.bincount(chosen, minlength=10)  # ASG105

    def compute(self):
        return self.matrix.cpu()  # clean


class Settings:
    def update(self, output, target):
        return torch.bincount(output.argmax(1))  # clean
