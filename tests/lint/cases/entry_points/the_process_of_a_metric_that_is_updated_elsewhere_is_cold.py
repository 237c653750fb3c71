import torch


class SegmentMetrics:
    def process_batch(self, preds, target: torch.Tensor):
        self.matrix += torch.bincount(target, minlength=10)  # ASG105

    def process(self):
        scores = self.matrix / self.matrix.sum()
        return scores.cpu()  # clean


class PlainMetric:
    def process(self, preds: torch.Tensor, target):
        return preds.cpu()  # ASG103

    def compute(self):
        return 0
